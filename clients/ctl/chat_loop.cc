// The loop of the chat: lines to entries, entries to the session.
#include "clients/ctl/chat.h"
#include "clients/ctl/chat_command.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/run.h"
#include "clients/ctl/text_block.h"

namespace cascade::ctl {

namespace {

// Enters what `line` completes. Returns false for /bye.
bool feed(ChatSession& session, const std::string& line, TextBlock& block) {
  const std::optional<std::string> entry = block.feed(line);
  return !entry || session.enter(*entry);
}

// Like feed(), but also takes single words that are commands at other prompts, and a person's paste
// as one message.
bool enter_line(ChatSession& session, const std::string& line, TextBlock& block) {
  if (block.open()) return feed(session, line, block);
  if (const auto command = command_of_word(line)) {
    const bool stays = session.enter(*command);
    const std::string word = command->substr(1);
    session.remark("To send the word " + word + " to the model, type \"\"\"" + word + "\"\"\".");
    return stays;
  }
  if (const auto message = message_of_paste(line)) return session.enter(*message);
  return feed(session, line, block);
}

}  // namespace

int run_chat(ChatSession& session, LineSource& lines, bool interactive) {
  TextBlock block;
  for (bool more = true; more;) {
    const Line line = lines.next(block.open() ? "... " : "> ");
    if (line.error) session.fail(*line.error);
    if (line.status == Line::Status::kEnd || line.status == Line::Status::kNoText) break;
    if (line.status == Line::Status::kInterrupted) {
      block.reset();
      continue;
    }
    more = enter_line(session, line.text, block);
    if (!interactive && interrupted()) {
      session.fail({ErrorCode::kCancelled, "", "interrupted"});
      break;
    }
  }
  session.end();
  if (block.open()) session.fail(invalid_argument("\"\"\"", "the text that it begins has no end"));
  return interactive ? kExitOk : session.exit_code();
}

}  // namespace cascade::ctl
