// The most likely answer to a prompt, and how far another way to compute it is from that.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/eval/divergence.h"
#include "bench/eval/session.h"

namespace cascade::eval {

// The most tokens of an answer.
inline constexpr int64_t kAnswerTokensMax = 64;

struct GreedyAnswer {
  std::vector<int32_t> tokens;     // at least one; the last one may be an end token
  std::vector<float> logits;       // [tokens, vocab_size]: what each token was chosen by
  double first_token_seconds = 0;  // from the call to the first token
  double seconds = 0;              // to the last one

  // Without special tokens and white space at the ends.
  std::string text(const Model& model) const;
};

// Appends `ids` to the session's chain, and takes the most likely token again and again, up to an
// end token, kAnswerTokensMax tokens, or the end of the model's context. All of them are appended
// but the last one. Precondition: `ids` is not empty. Errors: those of Session::append() and
// sample().
Result<GreedyAnswer> answer_to(Session& session, std::span<const int32_t> ids);

// How far each prediction of `reference` is from that of the session, which has just given
// `answer` after `prompt_tokens` tokens. Afterwards the chain has the tokens of `reference` but the
// last one in place of those of `answer`. Errors: those of Session::append().
Result<std::vector<Divergence>> divergences_from(const GreedyAnswer& reference,
                                                 const GreedyAnswer& answer, Session& session,
                                                 int64_t prompt_tokens);

}  // namespace cascade::eval
