// Requests must find room in the context and the KV memory.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

// Returns how long the answer may become: no longer than the request or the default says, and no
// longer than context and KV memory allow without what others have pinned. At least one token,
// since pins may be released. If its prompt does not fit memory, or the answer that it asks for,
// the request becomes a reader: its limit is the disk. But a prompt that fits memory becomes a
// reader only if the disk has more room than memory, and memory has room for what a reader is
// promised. If the working pages of a request with a window fit, nothing else limits it: it is no
// reader.
int32_t SchedulerCore::answer_tokens(Request& request) {
  const int64_t wanted =
      request.params.max_tokens > 0 ? request.params.max_tokens : options_.max_tokens_default;
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  const bool has_window = request.attention.window > 0;
  const AttentionMode seen = tenants_.widest(request.attention);
  const auto owner = request.attention.is_dense()
                         ? std::optional(tenants_.id(request.client.tenant))
                         : tenants_.find(request.client.tenant, request.attention);
  size_t pinned = index_.pinned_count();
  if (owner && pinned > 0) {  // pinned pages that the request sees to its end are not in the way
    const ChainIndex::Match match =
        index_.match(*owner, compute_.states.reusable(*owner, request.reusable()));
    pinned -= pinned_count(match.node, first_page_seen_to_end(seen, prompt + wanted));
  }
  const size_t pages = pool_.page_count() - pinned;
  const int64_t context = model_.config.context_tokens_max;
  const int64_t memory = static_cast<int64_t>(pages) * kPageTokens;
  const int64_t memory_max = static_cast<int64_t>(pool_.page_count()) * kPageTokens;
  int64_t most = std::min(context, memory);
  if (has_window) {
    const int64_t needed = working_pages(seen, prompt + wanted, options_.planner.slice_tokens_max);
    // If pins leave no room even for the prompt, the request waits for them.
    const bool waits = prompt + 1 > memory && needed * kPageTokens <= memory_max;
    if (needed * kPageTokens <= memory || waits) most = context;
  } else {
    // A short prompt with a generous max_tokens is served from memory.
    const bool is_long = prompt > memory / 2 && std::min(prompt + wanted, context) > memory;
    const auto disk = is_long ? disk_.room.tokens_for(request) : std::nullopt;
    const bool must_read = prompt + 1 > memory_max;
    const int64_t tokens = std::min({prompt + wanted, context, disk.value_or(context)});
    const int64_t promised = disk_.spills.promised_pages(request.attention, tokens);
    const bool may_read = disk > memory && promised <= static_cast<int64_t>(pages);
    request.reader = disk && (must_read || may_read);
    if (request.reader) most = std::min(context, *disk);
  }
  return static_cast<int32_t>(std::clamp<int64_t>(most - prompt, 1, wanted));
}

// Promises the request the pages that it may need at most and, out of those that may be pinned, the
// pages that it wants pinned.
Status SchedulerCore::promise_pages(Request& request, int64_t tokens) const {
  const AttentionMode seen = tenants_.widest(request.attention);
  request.pages_promised = working_pages(seen, tokens, options_.planner.slice_tokens_max);
  if (request.reader) {
    request.pages_promised = disk_.spills.promised_pages(request.attention, tokens);
    return {};
  }
  if (request.pages_promised > static_cast<int64_t>(pool_.page_count())) {
    CHECK(request.prefix);
    const int64_t needed = std::min(tokens, request.pages_promised * kPageTokens);
    return resource_exhausted(
        "prefix", "the prefix needs " + std::to_string(needed) +
                      " tokens of KV memory; there is room for " +
                      std::to_string(static_cast<int64_t>(pool_.page_count()) * kPageTokens));
  }
  if (!request.prefix && !request.params.output_pinned.value_or(false)) return {};
  const int64_t pinned = working_pages(seen, tokens, /*slice=*/0);
  RETURN_IF_ERROR(keep_.pin_budget.check(request.prefix ? "prefix" : "output_pinned", pinned));
  request.pin_promised = pinned;
  return {};
}

}  // namespace cascade
