// Moving the K and V of an answer to where it stands without its thoughts.
#pragma once

#include <cstdint>

#include "actors/scheduler/request.h"
#include "cache/chain_index.h"
#include "cache/chain_sequence.h"
#include "wire/messages.h"

namespace cascade {

// All: on the thread of the index. `chain` has a removal; `sampled` is the owner of the chain that
// was sampled.

// Returns how many pages that can be evicted now, or are free, moving the chain's tokens takes.
int64_t pages_for_removal(const ChainIndex& index, TenantId owner, TenantId sampled,
                          const Reprefill& chain);

// Has the pages of the sampled chain stay until release_source(). False, and nothing has changed,
// if they do not have all tokens that are still to be moved. Precondition: the chain's sequence has
// begun.
bool take_source(ChainIndex& index, TenantId sampled, Reprefill& chain);
// Does nothing without a source.
void release_source(ChainIndex& index, Reprefill& chain);

// Makes the job, which has the next tokens of the chain, one that moves them; or only the first of
// them, since all tokens of a job come from one run and are turned alike. `sequence`, the chain's
// own, is told of the free positions. Precondition: take_source().
void put_move(ChainSequence& sequence, const Reprefill& chain, wire::PrefillJob& job);

}  // namespace cascade
