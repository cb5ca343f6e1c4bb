// A mark is a special token; a model that has its spelling as text only does not write harmony.
#include "model/harmony.h"

#include <algorithm>

namespace cascade {

std::optional<HarmonyTokens> HarmonyTokens::of(const Tokenizer& tokenizer) {
  HarmonyTokens tokens;
  for (const auto& [mark, spelling] : kHarmonyMarks) {
    const int32_t id = tokenizer.token_id(spelling).value_or(-1);
    const bool is_mark = id >= 0 && tokenizer.is_special(id);
    if (!is_mark && mark <= HarmonyMark::kConstrain) return std::nullopt;
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

std::optional<HarmonyReader> harmony_reader(const Tokenizer& tokenizer,
                                            std::span<const int32_t> prompt) {
  const auto tokens = HarmonyTokens::of(tokenizer);
  if (!tokens) return std::nullopt;
  HarmonyReader reader(HarmonyPart::kAnswer);
  const auto start = std::find(prompt.rbegin(), prompt.rend(), tokens->id(HarmonyMark::kStart));
  if (start == prompt.rend()) return reader;
  const auto begin = static_cast<size_t>(prompt.rend() - start) - 1;
  for (const int32_t& id : prompt.subspan(begin)) {
    if (const auto mark = tokens->mark_of(id)) {
      reader.push(*mark);
    } else {
      (void)reader.push(tokenizer.decode(std::span(&id, 1), /*skip_special=*/true));
    }
  }
  return reader.at_generation();
}

}  // namespace cascade
