// Choices of one prompt are next to each other.
#include "wire/openai/choices.h"

namespace cascade::openai {

int64_t read_choices(Fields& fields) {
  return fields.integer("n", 1, kChoicesMax).value_or(1);
}

std::vector<wire::GenerateRequest> choices_of(const wire::GenerateRequest& request, int64_t n) {
  std::vector<wire::GenerateRequest> choices(static_cast<size_t>(n), request);
  for (size_t i = 0; i < choices.size(); ++i) {
    std::optional<uint64_t>& seed = choices[i].sampling.seed;
    if (seed) *seed += i;
  }
  return choices;
}

void UsageSum::add(size_t choice, const wire::Usage& usage) {
  sum_.completion_tokens += usage.completion_tokens;
  sum_.reasoning_tokens += usage.reasoning_tokens;
  if (choice % static_cast<size_t>(n_) != 0) return;
  sum_.prompt_tokens += usage.prompt_tokens;
  sum_.reused_tokens += usage.reused_tokens;
}

wire::Usage usage_of(std::span<const Answer> answers, int64_t n) {
  UsageSum sum(n);
  for (size_t i = 0; i < answers.size(); ++i) sum.add(i, answers[i].final.usage);
  return sum.usage();
}

}  // namespace cascade::openai
