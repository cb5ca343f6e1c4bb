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

template <class A, Is<SamplingParams> M>
void fields(A& a, M& m) {
  a.optional("temperature", m.temperature);
  a.optional("top_p", m.top_p);
  a.optional("top_k", m.top_k);
  a.optional("min_p", m.min_p);
  a.optional("repetition_penalty", m.repetition_penalty);
  a.optional("seed", m.seed);
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
  a.optional("retain_output", m.retain_output);
  a.optional("think_policy", m.think_policy);
  a.optional("stream", m.stream);
  a.optional("logprobs", m.logprobs);
  a.optional("timeout_ms", m.timeout_ms);
}

template <class A, Is<CancelRequest> M>
void fields(A& a, M& m) {
  a.required("target", m.target);
}

template <class A, Is<ChunkPut> M>
void fields(A& a, M& m) {
  a.required("type", m.type);
  a.required("text", m.text);
}

template <class A, Is<ChunkListRequest> M>
void fields(A& a, M& m) {
  a.optional("type", m.type);
  a.optional("limit", m.limit);
  a.optional("after", m.after);
}

template <class A, Is<ChunkGet> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
}

template <class A, Is<ChunkDelete> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
}

}  // namespace cascade::wire
