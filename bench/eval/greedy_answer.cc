// One token a pass.
#include "bench/eval/greedy_answer.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text_edges.h"

namespace cascade::eval {

std::string GreedyAnswer::text(const Model& model) const {
  return std::string(trimmed(model.tokenizer.decode(tokens, /*skip_special=*/true)));
}

Result<GreedyAnswer> answer_to(Session& session, std::span<const int32_t> ids) {
  const Model& model = session.model();
  const int64_t start_us = system_clock().monotonic_us();
  const auto seconds = [start_us] {
    return static_cast<double>(system_clock().monotonic_us() - start_us) / 1e6;
  };
  GreedyAnswer answer;
  Status problem;
  const auto choose = [&](size_t, std::span<float> row) {
    answer.logits.insert(answer.logits.end(), row.begin(), row.end());
    const auto next = sample(row, {}, {}, session.length(), *model.kernels);
    if (next.ok()) {
      answer.tokens.push_back(next->token);
    } else {
      problem = next.error();
    }
  };
  const auto& ends = model.generation.end_tokens;
  RETURN_IF_ERROR(session.append(ids, 0, 1, choose));
  answer.first_token_seconds = seconds();
  while (problem.ok() && std::ranges::find(ends, answer.tokens.back()) == ends.end() &&
         std::ssize(answer.tokens) < kAnswerTokensMax && session.room() > 0) {
    RETURN_IF_ERROR(session.append(std::vector<int32_t>{answer.tokens.back()}, 0, 1, choose));
  }
  RETURN_IF_ERROR(problem);
  answer.seconds = seconds();
  return answer;
}

Result<std::vector<Divergence>> divergences_from(const GreedyAnswer& reference,
                                                 const GreedyAnswer& answer, Session& session,
                                                 int64_t prompt_tokens) {
  const size_t vocab = session.model().config.vocab_size;
  const auto row_of = [&](const GreedyAnswer& of, size_t i) {
    return std::span(of.logits).subspan(i * vocab, vocab);
  };
  std::vector<Divergence> all = {
      divergence_of(row_of(reference, 0), row_of(answer, 0), reference.tokens[0])};
  session.cut(prompt_tokens);
  for (size_t i = 1; i < reference.tokens.size(); ++i) {
    RETURN_IF_ERROR(session.append(
        std::span(reference.tokens).subspan(i - 1, 1), 0, 1, [&](size_t, std::span<float> row) {
          all.push_back(divergence_of(row_of(reference, i), row, reference.tokens[i]));
        }));
  }
  return all;
}

}  // namespace cascade::eval
