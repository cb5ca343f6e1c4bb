// A mark is a special token; a model that has its spelling as text only does not write harmony.
#include "model/harmony.h"

#include <algorithm>

namespace cascade {

std::optional<HarmonyTokens> HarmonyTokens::of(const Tokenizer& tokenizer) {
  HarmonyTokens tokens;
  for (const auto& [mark, spelling] : kHarmonyMarks) {
    const int32_t id = tokenizer.token_id(spelling).value_or(-1);
    const bool is_mark = id >= 0 && tokenizer.is_special(id);
    if (!is_mark && mark <= HarmonyMark::kEnd) return std::nullopt;
    tokens.ids_[static_cast<size_t>(mark)] = is_mark ? id : -1;
  }
  return tokens;
}

std::optional<HarmonyMark> HarmonyTokens::mark_of(int32_t id) const {
  if (id < 0) return std::nullopt;
  const auto* const found = std::ranges::find(ids_, id);
  if (found == ids_.end()) return std::nullopt;
  return static_cast<HarmonyMark>(found - ids_.begin());
}

void HarmonyTokens::correct_end_tokens(std::vector<int32_t>& ends) const {
  std::erase(ends, id(HarmonyMark::kEnd));
  for (const HarmonyMark mark : {HarmonyMark::kCall, HarmonyMark::kReturn}) {
    if (id(mark) >= 0 && std::ranges::count(ends, id(mark)) == 0) ends.push_back(id(mark));
  }
}

}  // namespace cascade
