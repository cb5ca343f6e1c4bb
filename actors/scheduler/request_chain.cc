// A request begins where its pages and its state are both at hand.
#include "actors/scheduler/request_chain.h"

#include <algorithm>
#include <utility>

namespace cascade {

bool begin_chain(const ChainCaches& caches, TenantId tenant, std::span<const int32_t> tokens,
                 bool observed, int64_t now_us, Request& request) {
  // Later requests may go on from the end of the prompt, or from a little before it, since
  // templates may end a prompt in other words than its history.
  const auto keep_end_of_prompt = [&](ChainSequence& sequence) {
    const int64_t end = std::max<int64_t>(0, std::ssize(request.prompt) - 1);
    sequence.keep_seen(std::max<int64_t>(0, end - kPageTokens), end);
  };
  auto started =
      start_chain(caches, tenant, tokens, {request.use(), observed, keep_end_of_prompt}, now_us);
  if (!started) return false;
  request.sequence = std::move(started->sequence);
  request.recurrent = std::move(started->recurrent);
  if (observed) request.approximate_tokens = request.sequence->approximate_tokens();
  request.plan = {.begin = request.sequence->committed(), .tokens = std::ssize(request.chain())};
  if (!caches.states.is_needed()) return true;
  request.plan.fork = caches.index.match(tenant, request.reusable()).tokens();
  request.plan.resumes = request.history_tokens;
  return true;
}

void choose_approximation(const ChainIndex& index, const Tenants& tenants, int64_t context_tokens,
                          const std::function<int64_t()>& exact_tokens, Request& request) {
  if (request.prefill_start_us != 0) return;
  request.attention = request.attention.exact();
  const Approximation wanted = approximation_of(request.think_policy);
  if (wanted == Approximation::kNone || request.reader || request.prefix) return;
  AttentionMode mode = request.attention;
  mode.approximation = wanted;
  const auto owner = tenants.find(request.client.tenant, mode);
  if (!owner) return;
  const ChainIndex::Match found = index.match(*owner, request.reusable());
  const bool is_exact = found.last() == index.root() || name_of(found.last()).owner != *owner;
  if (is_exact) return;
  const bool fits = request.tokens_max() + taken_out(found.last()).free <= context_tokens;
  if (fits && found.tokens() > exact_tokens()) request.attention = mode;
}

int64_t history_tokens(const Tokenizer& tokenizer, const Request& request) {
  const auto tokens = std::ssize(request.prompt);
  const int64_t reusable = request.prefix ? tokens : tokens - 1;
  // Then the prompt ends with the text that the answer goes on with, not with what the template
  // adds.
  const bool goes_on = request.params.continue_final_message.value_or(false);
  if (request.prefix || goes_on || request.generation_prefix.empty()) return reusable;
  const auto added = tokenizer.encode(request.generation_prefix, /*trusted=*/true,
                                      /*with_template=*/false);
  if (!added.ok()) return reusable;
  return std::clamp<int64_t>(tokens - std::ssize(*added), 0, reusable);
}

}  // namespace cascade
