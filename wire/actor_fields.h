// The fields of the messages between actors.
#pragma once

#include "wire/chunk_fields.h"

namespace cascade::wire {

template <class A, Is<ActorHello> M>
void fields(A& a, M& m) {
  a.required("actor", m.actor);
  a.required("incarnation", m.incarnation);
}

template <class A, Is<Stop> M>
void fields(A&, M&) {}

template <class A, Is<EncodeJob> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("mode", m.mode);
  a.required("messages", m.messages);
  a.required("raw", m.raw);
  a.optional("thinking", m.thinking);
  a.required("now_unix_s", m.now_unix_s);
}

template <class A, Is<EncodeDone> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.numbers("token_ids", m.token_ids);
  a.required("generation_prefix", m.generation_prefix);
  a.required("inside_think", m.inside_think);
}

template <class A, Is<SampleSpec> M>
void fields(A& a, M& m) {
  a.required("temperature", m.temperature);
  a.required("top_p", m.top_p);
  a.required("top_k", m.top_k);
  a.required("min_p", m.min_p);
  a.required("repetition_penalty", m.repetition_penalty);
  a.required("seed", m.seed);
  a.numbers("history", m.history);
}

template <class A, Is<PrefillJob> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("position", m.position);
  a.numbers("token_ids", m.token_ids);
  a.numbers("pages", m.pages);
  a.optional("sample", m.sample);
}

template <class A, Is<PrefillDone> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("compute_us", m.compute_us);
  a.required("token", m.token);
  a.required("logprob", m.logprob);
}

template <class A, Is<DecodeSequence> M>
void fields(A& a, M& m) {
  a.required("sequence", m.sequence);
  a.required("token", m.token);
  a.required("position", m.position);
  a.required("steps_max", m.steps_max);
  a.numbers("pages", m.pages);
  a.numbers("end_tokens", m.end_tokens);
  a.required("sample", m.sample);
}

template <class A, Is<DecodeJob> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("steps_max", m.steps_max);
  a.required("sequences", m.sequences);
}

template <class A, Is<DecodedSequence> M>
void fields(A& a, M& m) {
  a.required("sequence", m.sequence);
  a.numbers("token_ids", m.token_ids);
  a.numbers("logprobs", m.logprobs);
}

template <class A, Is<DecodeDone> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("compute_us", m.compute_us);
  a.required("steps", m.steps);
  a.required("sequences", m.sequences);
}

template <class A, Is<StorePut> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("chunk", m.chunk);
}

template <class A, Is<StoreDelete> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("id", m.id);
}

template <class A, Is<StoreLoad> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
}

template <class A, Is<StoreAck> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
}

template <class A, Is<StoreChunks> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  chunk_list(a, m.chunks);
}

template <class A, Is<ClientGone> M>
void fields(A&, M&) {}

}  // namespace cascade::wire
