// Which summaries stand in for the oldest turns of a conversation: found by what they summarise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/chunk.h"
#include "cache/chunk_registry.h"

namespace cascade {

// Nobody keeps a list of a conversation's summaries: a summary's content_hash says what it is of,
// so equal turns find it in any session, and in a conversation that its client sends as messages.
// All functions: the scheduler's thread.

// Returns where each turn begins, as the number of its first message, and, last, the number of all
// messages. System messages at the beginning belong to no turn. Turns: model/conversation_cut.h.
std::vector<size_t> turn_begins(std::span<const ChatMessage> messages);

// Returns the content_hash of the summary of these messages, which are whole turns beginning at
// `begins` (as of turn_begins(), so `begins` has one element more than there are turns).
std::string hash_of_turns(std::span<const ChatMessage> messages, std::span<const size_t> begins);
// Returns the content_hash of the summary of these summaries.
std::string hash_of_summaries(std::span<const std::string> ids);

// Returns the tenant's summary with this content_hash; nullptr if there is none. Valid until the
// registry changes.
const Chunk* find_summary(const std::string& tenant, const std::string& content_hash,
                          ChunkRegistry& registry);

struct FoundSummary {
  std::string chunk_id;
  size_t turns_end = 0;  // the number of the first turn after those that it summarises
};
// Returns the summaries of the turns [0, turns_max), one after the other from the first turn on, as
// far as there are any; none are looked for that would be of several turns with more than 256 KiB.
// `begins` is turn_begins(messages).
std::vector<FoundSummary> find_summaries(const std::string& tenant,
                                         std::span<const ChatMessage> messages,
                                         std::span<const size_t> begins, size_t turns_max,
                                         ChunkRegistry& registry);

// Returns how many tokens the summaries have together, as far as they exist.
int64_t summary_tokens(const std::string& tenant, std::span<const std::string> ids,
                       ChunkRegistry& registry);

// A range of summaries in a list.
struct SummaryRange {
  size_t begin = 0;
  size_t end = 0;
};
// Returns which summaries are to be summarised together if a list may have `tokens_max` tokens and
// has more: neighbours that were made in the same number of steps, so that no part of a
// conversation is shortened much more often than another (as in a log-structured merge tree, O'Neil
// et al. 1996). Of the newest such neighbours that have a quarter of `tokens_max`, they are the
// oldest with as much: so they stay the same when further summaries come. If none have as much,
// they are the neighbours with the most tokens. Fewer than two: there is nothing to summarise.
SummaryRange range_to_merge(const std::string& tenant, std::span<const std::string> ids,
                            int64_t tokens_max, ChunkRegistry& registry);

// Puts summaries of summaries that exist in place of these, until the list and `more` tokens have
// at most `tokens_max`, or there is nothing to put.
std::vector<std::string> merged_summaries(const std::string& tenant, std::vector<std::string> ids,
                                          int64_t tokens_max, ChunkRegistry& registry,
                                          int64_t more = 0);

}  // namespace cascade
