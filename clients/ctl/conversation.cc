// Composition of a turn.
#include "clients/ctl/conversation.h"

#include <algorithm>

namespace cascade::ctl {

bool Conversation::add_output(const std::string& id) {
  if (std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end()) return false;
  outputs_.push_back(id);
  return true;
}

void Conversation::remove_output(const std::string& id) {
  std::erase(outputs_, id);
}

Result<std::vector<wire::ChunkRef>> Conversation::composition() const {
  if (query_.empty()) return invalid_argument("/infer", "there is no question: /query TEXT first");
  std::vector<wire::ChunkRef> chunks;
  if (!system_.empty()) chunks.push_back({ChunkType::kSystemPrompt, "", system_});
  for (const std::string& id : outputs_) chunks.push_back({ChunkType::kOutput, id, ""});
  for (const std::string& text : contexts_) chunks.push_back({ChunkType::kContext, "", text});
  chunks.push_back({ChunkType::kQuery, "", query_});
  return chunks;
}

void Conversation::answered(const std::string& id) {
  add_output(id);
  contexts_.clear();
  query_.clear();
}

void Conversation::clear() {
  outputs_.clear();
  contexts_.clear();
  query_.clear();
}

}  // namespace cascade::ctl
