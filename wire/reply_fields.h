// The fields of the messages that the daemon sends to clients.
#pragma once

#include "wire/chunk_fields.h"

namespace cascade::wire {

template <class A, Is<Pong> M>
void fields(A& a, M& m) {
  a.required("boot_id", m.boot_id);
  a.required("version", m.version);
}

template <class A, Is<StateStats> M>
void fields(A& a, M& m) {
  a.required("state_bytes", m.state_bytes);
  a.required("states_max", m.states_max);
  a.required("states_used", m.states_used);
  a.required("states_kept", m.states_kept);
  a.required("states_dropped", m.states_dropped);
  a.required("on_disk", m.on_disk);
  a.required("written", m.written);
  a.required("loaded", m.loaded);
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
  a.optional("fingerprint", m.fingerprint);
  a.required("isa", m.isa);
  a.required("threads", m.threads);
  a.required("context_tokens_max", m.context_tokens_max);
  a.required("weight_bytes", m.weight_bytes);
  a.required("kv_bytes_max", m.kv_bytes_max);
  a.required("kv_bytes_used", m.kv_bytes_used);
  a.required("kv_pages_used", m.kv_pages_used);
  a.required("kv_bytes_per_token", m.kv_bytes_per_token);
  a.optional("kv_disk_bytes", m.kv_disk_bytes);
  a.optional("kv_disk_bytes_max", m.kv_disk_bytes_max);
  a.optional("states", m.states);
  a.optional("attention", m.attention);
  a.optional("sequence_tokens_max", m.sequence_tokens_max);
  a.required("requests_running", m.requests_running);
  a.required("requests_waiting", m.requests_waiting);
  a.required("requests_waiting_max", m.requests_waiting_max);
  a.optional("tokens_waiting", m.tokens_waiting);
  a.optional("tokens_waiting_max", m.tokens_waiting_max);
  a.optional("requests_preempted", m.requests_preempted);
  a.required("requests_done", m.requests_done);
  a.required("requests_failed", m.requests_failed);
  a.required("requests_cancelled", m.requests_cancelled);
  a.required("tokens_reused", m.tokens_reused);
  a.required("tokens_prefilled", m.tokens_prefilled);
  a.required("tokens_reprefilled", m.tokens_reprefilled);
  a.required("tokens_generated", m.tokens_generated);
  a.optional("tokens_selected", m.tokens_selected);
  a.optional("tokens_drafted", m.tokens_drafted);
  a.optional("tokens_accepted", m.tokens_accepted);
  a.optional("tokens_approximate", m.tokens_approximate);
  a.optional("tokens_moved", m.tokens_moved);
  a.required("pages_evicted", m.pages_evicted);
  a.required("chunks_input", m.chunks_input);
  a.required("chunks_output", m.chunks_output);
  a.required("reprefills_pending", m.reprefills_pending);
  a.required("prefill_tokens_per_s", m.prefill_tokens_per_s);
  a.required("decode_tokens_per_s", m.decode_tokens_per_s);
  a.required("actors_restarted", m.actors_restarted);
  a.optional("warnings", m.warnings);
}

template <class A, Is<Accepted> M>
void fields(A& a, M& m) {
  a.required("queue_position", m.queue_position);
  a.optional("output_id", m.output_id);
  a.optional("fingerprint", m.fingerprint);
}

template <class A, Is<Progress> M>
void fields(A& a, M& m) {
  a.required("prompt_tokens", m.prompt_tokens);
  a.required("prompt_tokens_done", m.prompt_tokens_done);
  a.optional("tokens_per_s", m.tokens_per_s);
  a.optional("eta_us", m.eta_us);
  a.optional("queue_position", m.queue_position);
}

template <class A, Is<Delta> M>
void fields(A& a, M& m) {
  a.required("text", m.text);
  a.required("reasoning", m.reasoning);
}

template <class A, Is<Miss> M>
void fields(A& a, M& m) {
  a.required("reason", m.reason);
  a.required("position", m.position);
  a.required("known_token", m.known_token);
}

template <class A, Is<Usage> M>
void fields(A& a, M& m) {
  a.required("prompt_tokens", m.prompt_tokens);
  a.required("reused_tokens", m.reused_tokens);
  a.optional("loaded_tokens", m.loaded_tokens);
  a.required("prefilled_tokens", m.prefilled_tokens);
  a.optional("miss", m.miss);
  a.required("completion_tokens", m.completion_tokens);
  a.required("reasoning_tokens", m.reasoning_tokens);
  a.optional("selected_tokens", m.selected_tokens);
  a.optional("drafted_tokens", m.drafted_tokens);
  a.optional("accepted_tokens", m.accepted_tokens);
  a.optional("approximate_tokens", m.approximate_tokens);
}

template <class A, Is<Timings> M>
void fields(A& a, M& m) {
  a.required("queue_us", m.queue_us);
  a.required("prefill_us", m.prefill_us);
  a.required("first_token_us", m.first_token_us);
  a.required("decode_us", m.decode_us);
  a.required("total_us", m.total_us);
}

template <class A, Is<MissingChunk> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.required("reason", m.reason);
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
  a.optional("durable", m.durable);
  a.optional("think_policy", m.think_policy);
  a.numbers("top_token_ids", m.top_token_ids);
  a.numbers("top_logprobs", m.top_logprobs);
  a.optional("missing", m.missing);
  a.optional("think_spans", m.think_spans);
  a.optional("attention", m.attention);
  a.optional("approximation", m.approximation);
  a.optional("left_out", m.left_out);
  a.optional("retrieved", m.retrieved);
  a.optional("retrieved_text", m.retrieved_text);
  a.optional("summarised", m.summarised);
}

template <class A, Is<ChunkReply> M>
void fields(A& a, M& m) {
  a.required("chunk", m.chunk);
  a.optional("durable", m.durable);
  a.optional("ended", m.ended);
  a.optional("gone", m.gone);
}

template <class A, Is<PrefixReply> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.required("tokens", m.tokens);
  a.required("references", m.references);
  a.required("reused_tokens", m.reused_tokens);
  a.required("prefilled_tokens", m.prefilled_tokens);
  a.required("miss", m.miss);
}

template <class A, Is<ChunkListReply> M>
void fields(A& a, M& m) {
  chunk_list(a, m.chunks);
  a.required("token_counts", m.token_counts);
  a.required("more", m.more);
}

template <class A, Is<ChunkSearchHit> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.required("type", m.type);
  a.optional("name", m.name);
  a.required("snippet", m.snippet);
}

template <class A, Is<ChunkSearchReply> M>
void fields(A& a, M& m) {
  a.required("hits", m.hits);
}

template <class A, Is<ChunkGroup> M>
void fields(A& a, M& m) {
  a.required("tenant", m.tenant);
  a.required("type", m.type);
  a.required("chunks", m.chunks);
  a.required("pinned", m.pinned);
  a.required("hits", m.hits);
  a.required("registrations", m.registrations);
  a.required("text_bytes", m.text_bytes);
  a.required("kv_bytes", m.kv_bytes);
  a.optional("kv_disk_bytes", m.kv_disk_bytes);
}

template <class A, Is<CacheStats> M>
void fields(A& a, M& m) {
  a.required("policy", m.policy);
  a.required("page_bytes", m.page_bytes);
  a.required("pages_max", m.pages_max);
  a.required("pages_used", m.pages_used);
  a.required("pages_pinned", m.pages_pinned);
  a.required("pages_pin_promised", m.pages_pin_promised);
  a.required("pages_pinned_max", m.pages_pinned_max);
  a.required("pages_held", m.pages_held);
  a.required("pages_held_max", m.pages_held_max);
  a.required("page_hits", m.page_hits);
  a.required("page_misses", m.page_misses);
  a.required("evicted", m.evicted);
  a.required("removed_dead", m.removed_dead);
  a.required("removed_deleted", m.removed_deleted);
  a.required("removed_expired", m.removed_expired);
  a.required("evicted_early", m.evicted_early);
  a.required("working_set_bytes", m.working_set_bytes);
  a.required("thrashing", m.thrashing);
  a.required("thrash_alarms", m.thrash_alarms);
  a.required("refault_share", m.refault_share);
  a.required("recompute_bonus_s", m.recompute_bonus_s);
  a.optional("chunk_bytes", m.chunk_bytes);
  a.optional("chunk_disk_bytes", m.chunk_disk_bytes);
  a.optional("saved_tokens", m.saved_tokens);
  a.optional("saved_us", m.saved_us);
  a.optional("saved_bytes", m.saved_bytes);
}

template <class A, Is<DiskStats> M>
void fields(A& a, M& m) {
  a.required("pages", m.pages);
  a.required("page_bytes", m.page_bytes);
  a.required("pages_written", m.pages_written);
  a.required("pages_loaded", m.pages_loaded);
  a.required("pages_bad", m.pages_bad);
  a.required("pages_removed", m.pages_removed);
  a.required("load_bytes_per_s", m.load_bytes_per_s);
}

template <class A, Is<StatsReply> M>
void fields(A& a, M& m) {
  a.required("groups", m.groups);
  a.required("chunks_max", m.chunks_max);
  a.required("text_bytes_max", m.text_bytes_max);
  a.required("pages_of_tenant", m.pages_of_tenant);
  a.optional("cache", m.cache);
  a.optional("disk", m.disk);
  a.optional("states", m.states);
}

template <class A, Is<FsckFinding> M>
void fields(A& a, M& m) {
  a.required("where", m.where);
  a.required("what", m.what);
  a.required("repaired", m.repaired);
}

template <class A, Is<FsckReply> M>
void fields(A& a, M& m) {
  a.required("findings", m.findings);
  a.required("found", m.found);
  a.required("left", m.left);
  a.required("pages", m.pages);
  a.required("bytes", m.bytes);
}

template <class A, Is<BackupReply> M>
void fields(A& a, M& m) {
  a.required("pages", m.pages);
  a.required("bytes", m.bytes);
  a.required("pages_bad", m.pages_bad);
}

template <class A, Is<SessionInfo> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.required("created_us", m.created_us);
  a.required("last_used_us", m.last_used_us);
  a.required("turns", m.turns);
  a.optional("on_overflow", m.on_overflow);
  a.optional("left_out_turns", m.left_out_turns);
  a.optional("retrieved", m.retrieved);
  a.optional("summarised", m.summarised);
}

template <class A, Is<SessionListReply> M>
void fields(A& a, M& m) {
  a.required("sessions", m.sessions);
}

template <class A, Is<SessionOutput> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.required("gone", m.gone);
  a.optional("held_by", m.held_by);
}

template <class A, Is<SessionReply> M>
void fields(A& a, M& m) {
  a.required("session", m.session);
  a.required("turns", m.turns);
  a.required("durable", m.durable);
  a.optional("outputs", m.outputs);
}

template <class A, Is<ExpiryPolicy> M>
void fields(A& a, M& m) {
  a.required("type", m.type);
  a.required("ttl_ms", m.ttl_ms);
}

template <class A, Is<PolicyReply> M>
void fields(A& a, M& m) {
  a.required("policies", m.policies);
  a.required("durable", m.durable);
}

template <class A, Is<TokenizeReply> M>
void fields(A& a, M& m) {
  a.numbers("token_ids", m.token_ids);
}

template <class A, Is<DetokenizeReply> M>
void fields(A& a, M& m) {
  a.required("text", m.text);
  a.optional("pieces", m.pieces);
  a.optional("piece_bytes", m.piece_bytes);
}

template <class A, Is<ApplyTemplateReply> M>
void fields(A& a, M& m) {
  a.required("prompt", m.prompt);
  a.numbers("token_ids", m.token_ids);
}

template <class A, Is<EventNotice> M>
void fields(A& a, M& m) {
  a.required("sequence", m.sequence);
  a.required("boot_id", m.boot_id);
  a.required("time_us", m.time_us);
  a.required("kind", m.kind);
  a.required("id", m.id);
  a.optional("type", m.type);
  a.optional("tokens", m.tokens);
  a.optional("reason", m.reason);
  a.optional("approximation", m.approximation);
}

template <class A, Is<EventsReply> M>
void fields(A& a, M& m) {
  a.required("boot_id", m.boot_id);
  a.required("events", m.events);
  a.required("last", m.last);
  a.required("gap", m.gap);
}

template <class A, Is<Ack> M>
void fields(A&, M&) {}

template <class A, Is<ModelInfo> M>
void fields(A& a, M& m) {
  a.required("name", m.name);
  a.required("state", m.state);
  a.required("default", m.is_default);
  a.optional("path", m.path);
  a.required("format", m.format);
  a.required("weight_type", m.weight_type);
  a.required("disk_bytes", m.disk_bytes);
  a.required("weights_bytes", m.weights_bytes);
  a.required("kv_bytes", m.kv_bytes);
  a.required("other_bytes", m.other_bytes);
  a.required("total_bytes", m.total_bytes);
  a.required("requests", m.requests);
  a.required("last_used_us", m.last_used_us);
  a.optional("problem", m.problem);
}

template <class A, Is<ModelListReply> M>
void fields(A& a, M& m) {
  a.optional("models", m.models);
  a.optional("models_dir", m.models_dir);
  a.required("total_bytes", m.total_bytes);
  a.required("total_bytes_max", m.total_bytes_max);
}

template <class A, Is<ModelReply> M>
void fields(A& a, M& m) {
  a.required("model", m.model);
}

template <class A, Is<Loading> M>
void fields(A& a, M& m) {
  a.required("done_bytes", m.done_bytes);
  a.required("total_bytes", m.total_bytes);
}

template <class A, Is<ErrorReply> M>
void fields(A& a, M& m) {
  a.required("error", m.error);
  a.required("retry_after_ms", m.retry_after_ms);
  a.optional("context_tokens_max", m.context_tokens_max);
  a.optional("loading", m.loading);
}

}  // namespace cascade::wire
