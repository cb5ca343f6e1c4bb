// The values are in the order in which versions of the program added them.
#include "persist/chunk_checksum.h"

#include <span>

#include "persist/row_checksum.h"

namespace cascade {

int64_t chunk_use_checksum(const Chunk& chunk) {
  return RowChecksum()
      .add_all(chunk.tenant, chunk.id, chunk.hits, chunk.registrations, chunk.last_used_us)
      .value();
}

int64_t chunk_checksum(const Chunk& chunk) {
  const GenerationRecord& made = chunk.generation;
  RowChecksum sum;
  sum.add_all(chunk.tenant, chunk.id, to_string(chunk.type), int64_t{chunk.published},
              int64_t{chunk.pinned}, chunk.name, chunk.created_us, chunk.expires_us,
              int64_t{chunk.priority}, chunk.priority_until_us, chunk.content_hash,
              to_string(chunk.think_policy), to_string(chunk.kv_state), chunk.kv_tokens,
              chunk.kv_bytes, chunk.kv_key, chunk.kv_begin, chunk.text, chunk.query_text,
              chunk.raw_text, chunk.client_data);
  sum.add_all(made.temperature, made.top_p, int64_t{made.top_k}, made.min_p,
              made.repetition_penalty, made.presence_penalty, made.frequency_penalty,
              static_cast<int64_t>(made.seed), int64_t{made.max_tokens},
              int64_t{made.logit_bias_count}, made.finish_reason);
  // Rows that are older than these columns have the checksum of the others.
  if (made.approximation != Approximation::kNone) sum.add(to_string(made.approximation));
  if (made.left_out) sum.add_all(made.left_out->turns, made.left_out->steps);
  if (!made.left_out_from.empty()) sum.add(made.left_out_from);
  for (const Retrieved& part : made.retrieved) sum.add_all(part.chunk_id, part.tokens);
  if (made.summarised) {
    sum.add(made.summarised->turns);
    for (const std::string& id : made.summarised->chunk_ids) sum.add(id);
  }
  sum.add(std::span<const int32_t>(chunk.token_ids));
  sum.add(static_cast<int64_t>(chunk.think_spans.size()));
  for (const ThinkSpan& span : chunk.think_spans) {
    sum.add_all(int64_t{span.begin}, int64_t{span.end}, int64_t{span.closed});
  }
  sum.add(static_cast<int64_t>(chunk.parent_ids.size()));
  for (const std::string& id : chunk.parent_ids) sum.add(id);
  // Chunks that were stored before holders existed have no such rows.
  for (const Holder& holder : chunk.holders) {
    sum.add_all(to_string(holder.kind), holder.label, holder.count, holder.expires_us,
                int64_t{holder.priority}, holder.priority_until_us, int64_t{holder.pinned});
  }
  return sum.value();
}

}  // namespace cascade
