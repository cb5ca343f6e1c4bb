// The hash of turns is a chain of digests, turn by turn, so that all ends of a run are tried at
// once.
#include "actors/scheduler/summary_chain.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "model/conversation_cut.h"

namespace cascade {
namespace {

// A summary of several turns is of at most so many bytes: what is summarised is much less
// (keep/summaries.h), and a long conversation is not hashed to its end for nothing.
constexpr size_t kSummarisedBytesMax = size_t{256} << 10;

Digest digest_with(const Digest& before, std::span<const ChatMessage> turn) {
  Hasher hasher;
  hasher.field("turns before", before);
  for (const ChatMessage& message : turn) {
    hasher.field("role", message.role).field("content", message.content);
    hasher.field("calls", message.tool_calls);
  }
  return hasher.finish();
}

std::string hash_of(const Digest& turns) {
  Hasher hasher;
  hasher.field("summary of turns", turns);
  return hasher.finish().hex();
}

// Returns how often the oldest text of the summary was summarised before. Summaries that it was
// made of and that do not exist any more do not count.
int level_of(const std::string& tenant, const std::string& id, ChunkRegistry& registry) {
  constexpr int kLevelsMax = 16;  // each level has several of the one below it
  std::string next = id;
  for (int level = 0; level < kLevelsMax; ++level) {
    const auto found = registry.find(tenant, next);
    if (!found.ok() || (*found)->chunk.parent_ids.empty()) return level;
    const auto of = registry.find(tenant, (*found)->chunk.parent_ids.front());
    if (!of.ok() || (*of)->chunk.type != ChunkType::kSummary) return level;
    next = (*of)->chunk.id;
  }
  return kLevelsMax;
}

}  // namespace

std::vector<size_t> turn_begins(std::span<const ChatMessage> messages) {
  const ConversationCuts cuts(messages);
  std::vector<size_t> begins = {cuts.system_messages()};
  for (size_t i = begins.front() + 1; i < messages.size(); ++i) {
    const LeftOut before = {std::ssize(begins), 0};
    if (cuts.has(before) && cuts.stays(i, before)) begins.push_back(i);
  }
  if (begins.back() < messages.size()) begins.push_back(messages.size());
  return begins;
}

std::string hash_of_turns(std::span<const ChatMessage> messages, std::span<const size_t> begins) {
  Digest turns;
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    turns = digest_with(turns, messages.subspan(begins[i], begins[i + 1] - begins[i]));
  }
  return hash_of(turns);
}

std::string hash_of_summaries(std::span<const std::string> ids) {
  Hasher hasher;
  for (const std::string& id : ids) hasher.field("summary of summary", id);
  return hasher.finish().hex();
}

const Chunk* find_summary(const std::string& tenant, const std::string& content_hash,
                          ChunkRegistry& registry) {
  Chunk wanted;
  wanted.type = ChunkType::kSummary;
  wanted.tenant = tenant;
  wanted.content_hash = content_hash;
  const ChunkEntry* const found = registry.same_content(wanted);
  return found == nullptr ? nullptr : &found->chunk;
}

std::vector<FoundSummary> find_summaries(const std::string& tenant,
                                         std::span<const ChatMessage> messages,
                                         std::span<const size_t> begins, size_t turns_max,
                                         ChunkRegistry& registry) {
  std::vector<FoundSummary> summaries;
  Digest turns;
  size_t bytes = 0, begin = 0;
  for (size_t end = 0; end < turns_max && end + 1 < begins.size();) {
    for (size_t i = begins[end]; i < begins[end + 1]; ++i) bytes += messages[i].content.size();
    if (bytes > kSummarisedBytesMax && end > begin) break;
    turns = digest_with(turns, messages.subspan(begins[end], begins[end + 1] - begins[end]));
    ++end;
    const Chunk* const summary = find_summary(tenant, hash_of(turns), registry);
    if (summary == nullptr) continue;
    summaries.push_back({summary->id, end});
    turns = Digest();
    begin = end;
    bytes = 0;
  }
  return summaries;
}

int64_t summary_tokens(const std::string& tenant, std::span<const std::string> ids,
                       ChunkRegistry& registry) {
  int64_t tokens = 0;
  for (const std::string& id : ids) {
    const auto found = registry.find(tenant, id);
    if (found.ok()) tokens += std::ssize((*found)->chunk.token_ids);
  }
  return tokens;
}

SummaryRange range_to_merge(const std::string& tenant, std::span<const std::string> ids,
                            int64_t tokens_max, ChunkRegistry& registry) {
  std::vector<int> levels;
  std::vector<int64_t> tokens;
  for (const std::string& id : ids) {
    levels.push_back(level_of(tenant, id, registry));
    tokens.push_back(summary_tokens(tenant, std::span(&id, 1), registry));
  }
  SummaryRange newest, longest;
  int64_t most = 0;
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    int64_t all = 0;
    size_t enough = 0;  // where the first summaries of this level have a quarter of tokens_max
    while (end < ids.size() && levels[end] == levels[begin]) {
      all += tokens[end++];
      const bool is_enough = end - begin >= 2 && all >= tokens_max / 4;
      if (enough == 0 && is_enough) enough = end;
    }
    if (enough > 0) newest = {begin, enough};
    if (end - begin >= 2 && all > most) {
      most = all;
      longest = {begin, end};
    }
  }
  if (newest.end > 0) return newest;
  if (longest.end > 0) return longest;
  return ids.size() >= 2 ? SummaryRange{0, ids.size()} : SummaryRange();
}

std::vector<std::string> merged_summaries(const std::string& tenant, std::vector<std::string> ids,
                                          int64_t tokens_max, ChunkRegistry& registry,
                                          int64_t more) {
  while (summary_tokens(tenant, ids, registry) + more > tokens_max) {
    const SummaryRange range = range_to_merge(tenant, ids, tokens_max, registry);
    if (range.end - range.begin < 2) break;
    const auto begin = ids.begin() + static_cast<ptrdiff_t>(range.begin);
    const auto end = ids.begin() + static_cast<ptrdiff_t>(range.end);
    const Chunk* const merged =
        find_summary(tenant, hash_of_summaries(std::span(begin, end)), registry);
    if (merged == nullptr) break;
    *begin = merged->id;
    ids.erase(std::next(begin), end);
  }
  return ids;
}

}  // namespace cascade
