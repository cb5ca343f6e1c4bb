// The fields of the messages that the daemon sends to clients.
#pragma once

#include "wire/chunk_fields.h"

namespace cascade::wire {

template <class A, Is<Pong> M>
void fields(A& a, M& m) {
  a.required("boot_id", m.boot_id);
  a.required("version", m.version);
}

template <class A, Is<StatusReply> M>
void fields(A& a, M& m) {
  a.required("version", m.version);
  a.required("boot_id", m.boot_id);
  a.required("state", m.state);
  a.required("uptime_us", m.uptime_us);
  a.required("model", m.model);
  a.required("model_type", m.model_type);
  a.required("weight_type", m.weight_type);
  a.required("kv_type", m.kv_type);
  a.required("isa", m.isa);
  a.required("threads", m.threads);
  a.required("context_tokens_max", m.context_tokens_max);
  a.required("weight_bytes", m.weight_bytes);
  a.required("kv_bytes_max", m.kv_bytes_max);
  a.required("kv_bytes_used", m.kv_bytes_used);
  a.required("kv_pages_used", m.kv_pages_used);
  a.required("kv_bytes_per_token", m.kv_bytes_per_token);
  a.required("requests_running", m.requests_running);
  a.required("requests_waiting", m.requests_waiting);
  a.required("requests_waiting_max", m.requests_waiting_max);
  a.required("requests_done", m.requests_done);
  a.required("requests_failed", m.requests_failed);
  a.required("requests_cancelled", m.requests_cancelled);
  a.required("tokens_reused", m.tokens_reused);
  a.required("tokens_prefilled", m.tokens_prefilled);
  a.required("tokens_reprefilled", m.tokens_reprefilled);
  a.required("tokens_generated", m.tokens_generated);
  a.required("pages_evicted", m.pages_evicted);
  a.required("chunks_input", m.chunks_input);
  a.required("chunks_output", m.chunks_output);
  a.required("reprefills_pending", m.reprefills_pending);
  a.required("prefill_tokens_per_s", m.prefill_tokens_per_s);
  a.required("decode_tokens_per_s", m.decode_tokens_per_s);
  a.required("actors_restarted", m.actors_restarted);
}

template <class A, Is<Accepted> M>
void fields(A& a, M& m) {
  a.required("queue_position", m.queue_position);
}

template <class A, Is<Progress> M>
void fields(A& a, M& m) {
  a.required("prompt_tokens", m.prompt_tokens);
  a.required("prompt_tokens_done", m.prompt_tokens_done);
}

template <class A, Is<Delta> M>
void fields(A& a, M& m) {
  a.required("text", m.text);
  a.required("reasoning", m.reasoning);
}

template <class A, Is<Usage> M>
void fields(A& a, M& m) {
  a.required("prompt_tokens", m.prompt_tokens);
  a.required("reused_tokens", m.reused_tokens);
  a.required("prefilled_tokens", m.prefilled_tokens);
  a.required("completion_tokens", m.completion_tokens);
  a.required("reasoning_tokens", m.reasoning_tokens);
}

template <class A, Is<Timings> M>
void fields(A& a, M& m) {
  a.required("queue_us", m.queue_us);
  a.required("prefill_us", m.prefill_us);
  a.required("first_token_us", m.first_token_us);
  a.required("decode_us", m.decode_us);
  a.required("total_us", m.total_us);
}

template <class A, Is<Final> M>
void fields(A& a, M& m) {
  a.required("text", m.text);
  a.required("reasoning", m.reasoning);
  a.required("finish_reason", m.finish_reason);
  a.numbers("token_ids", m.token_ids);
  a.numbers("logprobs", m.logprobs);
  a.required("usage", m.usage);
  a.required("timings", m.timings);
  a.required("seed", m.seed);
  a.required("output_chunk_id", m.output_chunk_id);
}

template <class A, Is<ChunkReply> M>
void fields(A& a, M& m) {
  a.required("chunk", m.chunk);
}

template <class A, Is<ChunkListReply> M>
void fields(A& a, M& m) {
  chunk_list(a, m.chunks);
  a.required("token_counts", m.token_counts);
  a.required("more", m.more);
}

template <class A, Is<Ack> M>
void fields(A&, M&) {}

template <class A, Is<ErrorReply> M>
void fields(A& a, M& m) {
  a.required("error", m.error);
  a.required("retry_after_ms", m.retry_after_ms);
}

}  // namespace cascade::wire
