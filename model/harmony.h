// The special tokens of models that write harmony (model/harmony_reader.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/harmony_reader.h"
#include "model/tokenizer.h"

namespace cascade {

// The ids of the marks. Immutable; any thread.
class HarmonyTokens {
 public:
  // nullopt if the model does not write harmony: it lacks one of the first five marks.
  static std::optional<HarmonyTokens> of(const Tokenizer& tokenizer);

  // -1 if the model has no such token, which may be so for kCall and kReturn.
  int32_t id(HarmonyMark mark) const { return ids_[static_cast<size_t>(mark)]; }
  // The mark that the token is; nullopt if it is none.
  std::optional<HarmonyMark> mark_of(int32_t id) const;

  // Makes `ends`, the end tokens that a model's files name, the tokens that end a generation:
  // <|call|> and <|return|> are among them, and <|end|>, after which an answer may still come, is
  // not.
  void correct_end_tokens(std::vector<int32_t>& ends) const;

 private:
  std::array<int32_t, kHarmonyMarks.size()> ids_{};
};

// What a prompt of these tokens ends in, for the generation that continues it. A prompt without
// messages ends in the body of an answer. nullopt if the model does not write harmony.
std::optional<HarmonyReader> harmony_reader(const Tokenizer& tokenizer,
                                            std::span<const int32_t> prompt);

}  // namespace cascade
