// Which tokens of a conversation's history were computed with thoughts that the history leaves out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/chunk.h"

namespace cascade {

// Tokens [begin, end) of the history are the tokens from `sampled_begin` on of the sampled chain.
struct TokenRun {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t sampled_begin = 0;
  bool operator==(const TokenRun&) const = default;
};

// A chain as it was sampled: a prompt, and the tokens of its answer.
struct SampledChain {
  std::span<const int32_t> tokens;
  size_t prompt_tokens = 0;
  std::span<const ThinkSpan> think_spans;  // places among the answer's tokens
  // The mark that ends a thought, for thoughts in the prompt; nullopt: none is known.
  std::optional<int32_t> think_end;
};

// Returns the parts of `history` that come after a thought in the sampled chain, in order: the
// first begins where the two chains first differ, and each begins where the one before it ends.
// Returns none if they do not differ before one of them ends, or if what follows a thought is not
// found again. A part of fewer than four tokens only counts if it ends the history, since a few
// tokens could be found in the wrong place.
std::vector<TokenRun> runs_after_thoughts(const SampledChain& sampled,
                                          std::span<const int32_t> history);

}  // namespace cascade
