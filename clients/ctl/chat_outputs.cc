// Reads all outputs at once, and numbers them in their own order or in the conversation's.
#include "clients/ctl/chat_outputs.h"

#include <algorithm>
#include <charconv>

#include "base/counted.h"

namespace cascade::ctl {
namespace {

// "12" -> 12; 0 if `text` is not a number.
size_t number_in(const std::string& text) {
  size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stop == end ? number : 0;
}

const std::string& id_of(const client::ChunkInfo& info) {
  return info.chunk.id;
}

}  // namespace

Status NumberedOutputs::number(Whose whose, const std::vector<std::string>& conversation) {
  whose_ = whose;
  std::vector<client::ChunkInfo> all;
  const bool of_all = whose == Whose::kAll;
  if (of_all || !conversation.empty()) {
    ASSIGN_OR_RETURN(all, client_.get_retained_sequences());
  }
  list_.clear();
  if (of_all) {
    list_.assign(all.rbegin(), all.rend());  // oldest first, so that numbers stay valid when
                                             // outputs are added
    return {};
  }
  for (const std::string& id : conversation) {
    const auto found = std::ranges::find(all, id, id_of);
    if (found != all.end()) list_.push_back(*found);
  }
  return {};
}

Result<Chunk> NumberedOutputs::find(const std::string& which,
                                    const std::vector<std::string>& conversation) {
  const size_t at = number_in(which);
  if (at > list_.size()) RETURN_IF_ERROR(number(whose_, conversation));
  if (at > list_.size()) {
    const std::string count =
        (list_.size() == 1 ? "there is " : "there are ") + counted(list_.size(), "output");
    return not_found(which, whose_ == Whose::kAll
                                ? count + "; /output all lists them"
                                : count +
                                      " in this conversation; /output lists them, and /output "
                                      "all lists everybody's");
  }
  ASSIGN_OR_RETURN(Chunk chunk, client_.get_chunk(at > 0 ? list_[at - 1].chunk.id : which));
  if (chunk.type == ChunkType::kOutput) return chunk;
  return invalid_argument(which, "is not an output");
}

}  // namespace cascade::ctl
