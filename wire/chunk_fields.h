// The fields of chunks and of what they are made of, as messages carry them.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace cascade::wire {

// M is the message type T: T itself when an archive reads, const T when it writes.
template <class M, class T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

template <class A, Is<Error> M>
void fields(A& a, M& m) {
  a.required("code", m.code);
  a.required("field", m.field);
  a.required("message", m.message);
}

template <class A, Is<ThinkSpan> M>
void fields(A& a, M& m) {
  a.required("begin", m.begin);
  a.required("end", m.end);
  a.required("closed", m.closed);
}

template <class A, Is<LeftOut> M>
void fields(A& a, M& m) {
  a.required("turns", m.turns);
  a.required("steps", m.steps);
}

template <class A, Is<Retrieved> M>
void fields(A& a, M& m) {
  a.required("chunk_id", m.chunk_id);
  a.required("tokens", m.tokens);
}

template <class A, Is<Summarised> M>
void fields(A& a, M& m) {
  a.required("turns", m.turns);
  a.required("chunk_ids", m.chunk_ids);
}

template <class A, Is<StandIn> M>
void fields(A& a, M& m) {
  a.required("cut", m.cut);
  a.required("text", m.text);
}

template <class A, Is<GenerationRecord> M>
void fields(A& a, M& m) {
  a.required("temperature", m.temperature);
  a.required("top_p", m.top_p);
  a.required("top_k", m.top_k);
  a.required("min_p", m.min_p);
  a.required("repetition_penalty", m.repetition_penalty);
  a.required("seed", m.seed);
  a.required("max_tokens", m.max_tokens);
  a.required("finish_reason", m.finish_reason);
  // Records that are older than these fields lack them.
  a.optional("presence_penalty", m.presence_penalty);
  a.optional("frequency_penalty", m.frequency_penalty);
  a.optional("logit_bias_count", m.logit_bias_count);
  a.optional("approximation", m.approximation);
  a.optional("left_out", m.left_out);
  a.optional("left_out_from", m.left_out_from);
  a.optional("retrieved", m.retrieved);
  a.optional("summarised", m.summarised);
}

template <class A, Is<ChatMessage> M>
void fields(A& a, M& m) {
  a.required("role", m.role);
  a.required("content", m.content);
  a.optional("reasoning", m.reasoning);
  a.optional("verbatim", m.verbatim);
  a.optional("tool_calls", m.tool_calls);
  a.optional("tool_call_id", m.tool_call_id);
  a.optional("name", m.name);
}

template <class A, Is<SessionTurn> M>
void fields(A& a, M& m) {
  a.required("number", m.number);
  a.required("output_id", m.output_id);
}

template <class A, Is<Session> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.required("tenant", m.tenant);
  a.required("created_us", m.created_us);
  a.required("last_used_us", m.last_used_us);
  a.required("turns", m.turns);
  a.optional("on_overflow", m.on_overflow);
  a.optional("left_out_turns", m.left_out_turns);
}

template <class A, Is<Holder> M>
void fields(A& a, M& m) {
  a.required("kind", m.kind);
  a.optional("label", m.label);
  a.optional("count", m.count);
  a.optional("expires_us", m.expires_us);
  a.optional("priority", m.priority);
  a.optional("priority_until_us", m.priority_until_us);
  a.optional("pinned", m.pinned);
}

// All fields except the token ids.
template <class A, Is<Chunk> M>
void chunk_fields(A& a, M& m) {
  a.required("id", m.id);
  a.required("type", m.type);
  a.required("tenant", m.tenant);
  a.required("content_hash", m.content_hash);
  a.required("text", m.text);
  a.optional("query_text", m.query_text);
  a.optional("raw_text", m.raw_text);
  a.optional("think_spans", m.think_spans);
  a.required("think_policy", m.think_policy);
  a.required("kv_state", m.kv_state);
  a.optional("kv_approximation", m.kv_approximation);
  a.required("kv_tokens", m.kv_tokens);
  a.required("kv_bytes", m.kv_bytes);
  a.optional("kv_disk_pages", m.kv_disk_pages);
  a.optional("kv_disk_bytes", m.kv_disk_bytes);
  a.optional("kv_key", m.kv_key);
  a.optional("kv_begin", m.kv_begin);
  a.required("generation", m.generation);
  a.required("created_us", m.created_us);
  a.required("last_used_us", m.last_used_us);
  a.required("hits", m.hits);
  a.required("pinned", m.pinned);
  a.required("expires_us", m.expires_us);
  a.required("priority", m.priority);
  // Records that are older than these fields lack them.
  a.optional("priority_until_us", m.priority_until_us);
  a.optional("name", m.name);
  a.optional("registrations", m.registrations);
  a.optional("parent_ids", m.parent_ids);
  a.optional("published", m.published);
  a.optional("client_data", m.client_data);
  a.optional("holders", m.holders);
}

template <class A, Is<Chunk> M>
void fields(A& a, M& m) {
  chunk_fields(a, m);
  a.numbers("token_ids", m.token_ids);
}

// A chunk of a list: its token ids are a part of one array that all chunks of the list share, since
// a frame for each would exceed kFrameCountMax.
struct ListedChunk {
  Chunk chunk;
  uint32_t token_count = 0;
};

template <class A, Is<ListedChunk> M>
void fields(A& a, M& m) {
  chunk_fields(a, m.chunk);
  a.required("token_count", m.token_count);
}

// Writes a chunk in the form that ListedChunk reads, without a copy of the chunk.
struct ShownChunk {
  const Chunk* chunk = nullptr;
};

template <class A, Is<ShownChunk> M>
void fields(A& a, M& m) {
  chunk_fields(a, *m.chunk);
  a.required("token_count", static_cast<uint32_t>(m.chunk->token_ids.size()));
}

template <class A>
void write_chunk_list(A& a, const std::vector<Chunk>& chunks) {
  std::vector<ShownChunk> listed;
  std::vector<int32_t> token_ids;
  listed.reserve(chunks.size());
  for (const Chunk& chunk : chunks) {
    const std::vector<int32_t>& ids = chunk.token_ids;
    token_ids.insert(token_ids.end(), ids.begin(), ids.end());
    listed.push_back({&chunk});
  }
  a.required("chunks", listed);
  a.numbers("token_ids", token_ids);
}

template <class A>
void read_chunk_list(A& a, std::vector<Chunk>& chunks) {
  std::vector<ListedChunk> listed;
  std::vector<int32_t> token_ids;
  a.required("chunks", listed);
  a.numbers("token_ids", token_ids);
  if (!a.ok()) return;
  size_t begin = 0;
  for (ListedChunk& entry : listed) {
    if (entry.token_count > token_ids.size() - begin) {
      return a.fail("token_ids", "has fewer ids than the chunks count");
    }
    const auto first = token_ids.begin() + static_cast<ptrdiff_t>(begin);
    entry.chunk.token_ids.assign(first, first + entry.token_count);
    begin += entry.token_count;
    chunks.push_back(std::move(entry.chunk));
  }
  if (begin != token_ids.size()) a.fail("token_ids", "has more ids than the chunks count");
}

template <class A, Is<std::vector<Chunk>> M>
void chunk_list(A& a, M& chunks) {
  if constexpr (A::kReads) {
    read_chunk_list(a, chunks);
  } else {
    write_chunk_list(a, chunks);
  }
}

}  // namespace cascade::wire
