// The loop of the chat: lines to entries, entries to the session.
#include "clients/ctl/chat.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/run.h"
#include "clients/ctl/text_block.h"

namespace cascade::ctl {

int run_chat(ChatSession& session, LineSource& lines, bool interactive) {
  TextBlock block;
  for (bool more = true; more;) {
    const Line line = lines.next(block.open() ? "... " : "> ");
    if (line.status == Line::Status::kEnd) break;
    if (line.status == Line::Status::kInterrupted) {
      block.reset();
      continue;
    }
    const std::optional<std::string> entry = block.feed(line.text);
    if (entry.has_value()) more = session.enter(*entry);
    if (!interactive && interrupted()) {
      session.fail({ErrorCode::kCancelled, "", "interrupted"});
      break;
    }
  }
  if (block.open()) session.fail(invalid_argument("\"\"\"", "the text that it begins has no end"));
  return interactive ? kExitOk : session.exit_code();
}

}  // namespace cascade::ctl
