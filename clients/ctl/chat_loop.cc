// The loop of the chat: lines to entries, entries to the session.
#include "clients/ctl/chat.h"
#include "clients/ctl/chat_command.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/run.h"
#include "clients/ctl/text_block.h"

namespace cascade::ctl {

namespace {

// Enters what `line` completes. Returns false for /bye.
bool enter_piped(ChatSession& session, const std::string& line, TextBlock& block) {
  const std::optional<std::string> entry = block.feed(line);
  return !entry || session.enter(*entry);
}

// The same of a person, who pastes, and types words that are commands elsewhere.
bool enter_typed(ChatSession& session, const std::string& line, TextBlock& block) {
  if (block.open()) return enter_piped(session, line, block);
  if (const auto command = command_of_word(line)) {
    const bool stays = session.enter(*command);
    const std::string word = command->substr(1);
    session.remark("To send the word " + word + " to the model, type \"\"\"" + word + "\"\"\".");
    return stays;
  }
  if (const auto message = message_of_paste(line)) return session.enter(*message);
  return enter_piped(session, line, block);
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
    more = interactive ? enter_typed(session, line.text, block)
                       : enter_piped(session, line.text, block);
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
