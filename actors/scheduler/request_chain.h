// The chain of a request: where it begins, and where its states are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "actors/scheduler/request.h"
#include "actors/scheduler/tenants.h"
#include "cache/chain_start.h"
#include "model/tokenizer.h"

namespace cascade {

// All: on the scheduler's thread.

// The request begins with the longest beginning of `tokens`, a part of request.reusable(), whose
// pages and state are in memory. Plans where its states are kept. `observed`: as in
// ChainIndex::touch(). False, and nothing has changed, if there is no room for a state.
bool begin_chain(const ChainCaches& caches, TenantId tenant, std::span<const int32_t> tokens,
                 bool observed, int64_t now_us, Request& request);

// Decides what the request goes on from, unless it has started before: from approximate K and V
// only if its think policy allows that, and if more of its prompt is found in that way.
// `exact_tokens` returns how many tokens are known exactly. Free positions count against the
// context.
void choose_approximation(const ChainIndex& index, const Tenants& tenants, int64_t context_tokens,
                          const std::function<int64_t()>& exact_tokens, Request& request);

// Returns how many tokens of the request's prompt a later prompt of the same conversation begins
// with, as far as is known: all but what the generation prompt adds to the history. An estimate:
// that text is tokenized by itself. The last token of a prompt that is answered is never among them
// (Request::reusable()).
int64_t history_tokens(const Tokenizer& tokenizer, const Request& request);

}  // namespace cascade
