// The number comes first: an id may have spaces.
#include "persist/retrieved_column.h"

#include <algorithm>
#include <charconv>

namespace cascade {

std::string retrieved_column(const std::vector<Retrieved>& retrieved) {
  std::string text;
  for (const Retrieved& part : retrieved) {
    text += std::to_string(part.tokens) + " " + part.chunk_id + "\n";
  }
  return text;
}

std::vector<Retrieved> retrieved_from_column(std::string_view text) {
  std::vector<Retrieved> retrieved;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Retrieved part;
    const auto end = std::from_chars(line.data(), line.data() + line.size(), part.tokens).ptr;
    const auto id = static_cast<size_t>(end - line.data()) + 1;
    if (id <= line.size()) part.chunk_id = line.substr(id);
    retrieved.push_back(std::move(part));
  }
  return retrieved;
}

}  // namespace cascade
