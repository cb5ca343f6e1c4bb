// Composes a turn.
#include "clients/ctl/conversation.h"

#include <algorithm>

namespace cascade::ctl {
namespace {

ChatMessage message_of(const char* role, std::string content) {
  return {.role = role, .content = std::move(content), .reasoning = {}};
}

}  // namespace

Turn turn_of(const Chunk& output) {
  const bool keep = output.think_policy == ThinkPolicy::kKeep;
  ChatMessage answer = message_of("assistant", keep ? output.raw_text : output.text);
  answer.verbatim = keep;
  return {output.id, output.query_text, std::move(answer)};
}

bool Conversation::add_output(Turn turn) {
  if (std::ranges::find(turns_, turn.id, &Turn::id) != turns_.end()) return false;
  turns_.push_back(std::move(turn));
  return true;
}

bool Conversation::remove_output(const std::string& id) {
  const bool was_turn = std::erase_if(turns_, [&](const Turn& turn) { return turn.id == id; }) > 0;
  const bool was_previous = !previous_.empty() && previous_ == id;
  if (was_previous) previous_.clear();
  return was_turn || was_previous;
}

std::string Conversation::end() const {
  if (turns_.empty()) return previous_;
  const Turn& last = turns_.back();
  return last.question.empty() ? last.id : last.question;
}

void Conversation::go_on_from(const std::string& id) {
  clear();
  previous_ = id;
}

Status Conversation::compose(wire::GenerateRequest& request) const {
  if (query_.empty()) return invalid_argument("/infer", "there is no question: /query TEXT first");
  request.previous_output = previous_;
  request.session = session_;
  if (as_text_) {
    request.messages = messages();
  } else {
    request.chunks = chunks();
  }
  return {};
}

std::vector<wire::ChunkRef> Conversation::chunks() const {
  std::vector<wire::ChunkRef> chunks;
  if (!system_.empty()) chunks.push_back({ChunkType::kSystemPrompt, "", system_});
  for (const Turn& turn : turns_) chunks.push_back({ChunkType::kOutput, turn.id, ""});
  for (const std::string& text : contexts_) chunks.push_back({ChunkType::kContext, "", text});
  chunks.push_back({ChunkType::kQuery, "", query_});
  return chunks;
}

std::vector<ChatMessage> Conversation::messages() const {
  std::vector<ChatMessage> messages;
  if (!system_.empty()) messages.push_back(message_of("system", system_));
  for (const Turn& turn : turns_) {
    if (!turn.question.empty()) messages.push_back(message_of("user", turn.question));
    messages.push_back(turn.answer);
  }
  messages.push_back(message_of("user", user_message()));
  return messages;
}

// Contexts come before the query, with a blank line after each, as the daemon composes them.
std::string Conversation::user_message() const {
  std::string text;
  for (const std::string& context : contexts_) text += context + "\n\n";
  return text + query_;
}

bool Conversation::chunks_are_gone() {
  if (as_text_ || turns_.empty()) return false;
  if (!session_.empty()) {
    turns_.clear();
    return false;
  }
  as_text_ = true;
  return true;
}

void Conversation::answered(const std::string& id, ChatMessage answer) {
  if (session_.empty()) {
    turns_.push_back({id, user_message(), std::move(answer)});
    if (id.empty()) as_text_ = true;
  } else {
    turns_.clear();
  }
  contexts_.clear();
  query_.clear();
}

void Conversation::clear() {
  previous_.clear();
  turns_.clear();
  contexts_.clear();
  query_.clear();
  session_.clear();
  as_text_ = turns_are_ == Turns::kText;
}

std::vector<std::string> Conversation::outputs() const {
  std::vector<std::string> ids;
  if (!previous_.empty()) ids.push_back(previous_);
  for (const Turn& turn : turns_) {
    if (!turn.id.empty()) ids.push_back(turn.id);
  }
  return ids;
}

}  // namespace cascade::ctl
