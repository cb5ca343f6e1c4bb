// The fields of the messages that clients send.
#pragma once

#include "wire/chunk_fields.h"

namespace cascade::wire {

template <class A, Is<Ping> M>
void fields(A&, M&) {}

template <class A, Is<StatusRequest> M>
void fields(A&, M&) {}

template <class A, Is<ChunkRef> M>
void fields(A& a, M& m) {
  a.required("type", m.type);
  a.optional("id", m.id);
  a.optional("text", m.text);
}

template <class A, Is<LogitBias> M>
void fields(A& a, M& m) {
  a.required("token", m.token);
  a.required("bias", m.bias);
}

template <class A, Is<SamplingParams> M>
void fields(A& a, M& m) {
  a.optional("temperature", m.temperature);
  a.optional("top_p", m.top_p);
  a.optional("top_k", m.top_k);
  a.optional("min_p", m.min_p);
  a.optional("repetition_penalty", m.repetition_penalty);
  a.optional("seed", m.seed);
  a.optional("presence_penalty", m.presence_penalty);
  a.optional("frequency_penalty", m.frequency_penalty);
  a.optional("logit_bias", m.logit_bias);
}

template <class A, Is<Grammar> M>
void fields(A& a, M& m) {
  a.required("kind", m.kind);
  a.optional("schema", m.schema);
}

template <class A, Is<GenerateRequest> M>
void fields(A& a, M& m) {
  a.optional("chunks", m.chunks);
  a.optional("messages", m.messages);
  a.optional("prompt", m.prompt);
  a.optional("max_tokens", m.max_tokens);
  a.optional("sampling", m.sampling);
  a.optional("stop", m.stop);
  a.optional("ignore_eos", m.ignore_eos);
  a.optional("thinking", m.thinking);
  a.optional("reasoning_effort", m.reasoning_effort);
  a.optional("retain_output", m.retain_output);
  a.optional("think_policy", m.think_policy);
  a.optional("stream", m.stream);
  a.optional("logprobs", m.logprobs);
  a.optional("timeout_ms", m.timeout_ms);
  a.optional("reuse", m.reuse);
  a.optional("top_logprobs", m.top_logprobs);
  a.optional("output_name", m.output_name);
  a.optional("output_pinned", m.output_pinned);
  a.optional("output_ttl_ms", m.output_ttl_ms);
  a.optional("output_priority", m.output_priority);
  a.optional("output_priority_ms", m.output_priority_ms);
  a.optional("prompt_priority", m.prompt_priority);
  a.optional("prompt_priority_ms", m.prompt_priority_ms);
  a.optional("session", m.session);
  a.optional("previous_output", m.previous_output);
  a.optional("parents", m.parents);
  a.optional("on_missing", m.on_missing);
  a.optional("client_data", m.client_data);
  a.optional("tools", m.tools);
  a.optional("grammar", m.grammar);
  a.optional("delta_credit", m.delta_credit);
  a.numbers("prompt_token_ids", m.prompt_token_ids);
  a.optional("continue_final_message", m.continue_final_message);
  a.optional("attention", m.attention);
  a.optional("heal", m.heal);
  a.optional("on_overflow", m.on_overflow);
}

template <class A, Is<CancelRequest> M>
void fields(A& a, M& m) {
  a.required("target", m.target);
}

template <class A, Is<ChunkPut> M>
void fields(A& a, M& m) {
  a.required("type", m.type);
  a.optional("text", m.text);
  a.numbers("token_ids", m.token_ids);
  a.optional("name", m.name);
  a.optional("pinned", m.pinned);
  a.optional("ttl_ms", m.ttl_ms);
  a.optional("priority", m.priority);
  a.optional("priority_ms", m.priority_ms);
}

template <class A, Is<ChunkListRequest> M>
void fields(A& a, M& m) {
  a.optional("type", m.type);
  a.optional("limit", m.limit);
  a.optional("after", m.after);
}

template <class A, Is<ChunkSearch> M>
void fields(A& a, M& m) {
  a.required("query", m.query);
  a.optional("limit", m.limit);
}

template <class A, Is<ChunkGet> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
}

template <class A, Is<ChunkDelete> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.optional("name", m.name);
  a.optional("all", m.all);
}

template <class A, Is<ChunkUpdate> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.optional("name", m.name);
  a.optional("pinned", m.pinned);
  a.optional("ttl_ms", m.ttl_ms);
  a.optional("priority", m.priority);
  a.optional("priority_ms", m.priority_ms);
  a.optional("published", m.published);
  a.optional("touch", m.touch);
}

template <class A, Is<PrefixCache> M>
void fields(A& a, M& m) {
  a.optional("chunks", m.chunks);
  a.optional("messages", m.messages);
  a.optional("prompt", m.prompt);
  a.optional("thinking", m.thinking);
  a.optional("reasoning_effort", m.reasoning_effort);
  a.optional("stream", m.stream);
  a.optional("timeout_ms", m.timeout_ms);
}

template <class A, Is<PrefixAttach> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
}

template <class A, Is<PrefixRelease> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
}

template <class A, Is<StatsRequest> M>
void fields(A&, M&) {}

template <class A, Is<SessionListRequest> M>
void fields(A& a, M& m) {
  a.optional("limit", m.limit);
}

template <class A, Is<SessionGet> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
}

template <class A, Is<SessionDelete> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.optional("outputs", m.outputs);
}

template <class A, Is<PolicyGet> M>
void fields(A&, M&) {}

template <class A, Is<PolicySet> M>
void fields(A& a, M& m) {
  a.required("type", m.type);
  a.required("ttl_ms", m.ttl_ms);
}

template <class A, Is<FsckRequest> M>
void fields(A& a, M& m) {
  a.optional("repair", m.repair);
  a.optional("state_dir", m.state_dir);
}

template <class A, Is<BackupRequest> M>
void fields(A& a, M& m) {
  a.required("directory", m.directory);
  a.optional("state_dir", m.state_dir);
}

template <class A, Is<TokenizeRequest> M>
void fields(A& a, M& m) {
  a.required("text", m.text);
  a.optional("beginning", m.beginning);
}

template <class A, Is<DetokenizeRequest> M>
void fields(A& a, M& m) {
  a.numbers("token_ids", m.token_ids);
  a.optional("skip_special", m.skip_special);
  a.optional("pieces", m.pieces);
  a.optional("piece_bytes", m.piece_bytes);
  a.optional("text_start", m.text_start);
}

template <class A, Is<ApplyTemplateRequest> M>
void fields(A& a, M& m) {
  a.required("messages", m.messages);
  a.optional("thinking", m.thinking);
  a.optional("tools", m.tools);
  a.optional("continue_final_message", m.continue_final_message);
  a.optional("reasoning_effort", m.reasoning_effort);
}

template <class A, Is<DeltaCredit> M>
void fields(A& a, M& m) {
  a.required("target", m.target);
  a.required("deltas", m.deltas);
}

template <class A, Is<EventsRequest> M>
void fields(A& a, M& m) {
  a.optional("after", m.after);
  a.optional("boot_id", m.boot_id);
  a.optional("limit", m.limit);
}

template <class A, Is<ModelListRequest> M>
void fields(A&, M&) {}

template <class A, Is<ModelLoad> M>
void fields(A& a, M& m) {
  a.required("name", m.name);
  a.optional("estimate", m.estimate);
}

template <class A, Is<ModelUnload> M>
void fields(A& a, M& m) {
  a.required("name", m.name);
}

}  // namespace cascade::wire
