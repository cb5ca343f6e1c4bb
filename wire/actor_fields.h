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

template <class A, Is<EarlierTurn> M>
void fields(A& a, M& m) {
  a.required("chunk_id", m.chunk_id);
  a.required("question", m.question);
  a.required("answer", m.answer);
}

template <class A, Is<Retrieval> M>
void fields(A& a, M& m) {
  a.required("turns", m.turns);
  a.required("tokens_max", m.tokens_max);
}

template <class A, Is<EncodeJob> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("mode", m.mode);
  a.optional("tools", m.tools);
  a.required("show_text", m.show_text);
  a.required("messages", m.messages);
  a.required("follower", m.follower);
  a.required("raw", m.raw);
  a.numbers("token_ids", m.token_ids);
  a.required("goes_on", m.goes_on);
  a.optional("thinking", m.thinking);
  a.optional("reasoning_effort", m.reasoning_effort);
  a.required("now_unix_s", m.now_unix_s);
  a.optional("grammar", m.grammar);
  a.optional("room", m.room);
  a.optional("preferred", m.preferred);
  a.optional("next_tokens", m.next_tokens);
  a.optional("retrieval", m.retrieval);
  a.optional("summaries", m.summaries);
}

template <class A, Is<EncodeDone> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.numbers("token_ids", m.token_ids);
  a.required("tokens_left_out", m.tokens_left_out);
  a.required("generation_prefix", m.generation_prefix);
  a.required("inside_think", m.inside_think);
  a.optional("text", m.text);
  a.optional("left_out", m.left_out);
  a.optional("retrieved", m.retrieved);
  a.optional("retrieved_text", m.retrieved_text);
  a.optional("summarised", m.summarised);
}

template <class A, Is<Constraint> M>
void fields(A& a, M& m) {
  a.required("grammar", m.grammar);
  a.required("inside_think", m.inside_think);
  a.required("may_think", m.may_think);
  a.required("goes_on", m.goes_on);
  a.numbers("tokens", m.tokens);
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
  a.required("history_prompt_tokens", m.history_prompt_tokens);
  a.required("presence_penalty", m.presence_penalty);
  a.required("frequency_penalty", m.frequency_penalty);
  a.numbers("bias_tokens", m.bias_tokens);
  a.numbers("biases", m.biases);
  a.required("top_logprobs", m.top_logprobs);
  a.optional("constraint", m.constraint);
}

template <class A, Is<AttentionMode> M>
void fields(A& a, M& m) {
  a.optional("window", m.window);
  a.optional("sinks", m.sinks);
  a.optional("selected", m.selected);
  a.optional("dense_layers", m.dense_layers);
  a.optional("approximation", m.approximation);
}

template <class A, Is<DraftRecord> M>
void fields(A& a, M& m) {
  a.required("accepted", m.accepted);
  a.required("rejected", m.rejected);
  a.required("undrafted", m.undrafted);
}

template <class A, Is<JobStates> M>
void fields(A& a, M& m) {
  a.optional("from", m.from);
  a.required("to", m.to);
  a.numbers("kept_after", m.kept_after);
  a.numbers("kept", m.kept);
}

template <class A, Is<MovedRows> M>
void fields(A& a, M& m) {
  a.numbers("pages", m.pages);
  a.required("begin", m.begin);
  a.required("turn", m.turn);
}

template <class A, Is<PrefillJob> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("position", m.position);
  a.numbers("token_ids", m.token_ids);
  a.numbers("pages", m.pages);
  a.optional("sample", m.sample);
  a.required("attention", m.attention);
  a.optional("index_pages", m.index_pages);
  a.numbers("index_memory", m.index_memory);
  a.optional("indexed_pages", m.indexed_pages);
  a.optional("states", m.states);
  a.optional("free_positions", m.free_positions);
  a.optional("moved", m.moved);
  a.optional("yields", m.yields);
  a.optional("resumes", m.resumes);
}

template <class A, Is<PrefillDone> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("compute_us", m.compute_us);
  a.required("token", m.token);
  a.required("logprob", m.logprob);
  a.numbers("top_token_ids", m.top_token_ids);
  a.numbers("top_logprobs", m.top_logprobs);
  a.optional("lost_page", m.lost_page);
  a.required("read_bytes", m.read_bytes);
  a.required("read_us", m.read_us);
  a.required("read_wait_us", m.read_wait_us);
  a.optional("selected_tokens", m.selected_tokens);
  a.optional("indexed_pages", m.indexed_pages);
  a.optional("yielded", m.yielded);
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
  a.required("attention", m.attention);
  a.required("drafts", m.drafts);
  a.required("draft_record", m.draft_record);
  a.numbers("index_memory", m.index_memory);
  a.optional("indexed_pages", m.indexed_pages);
  a.optional("states", m.states);
  a.optional("free_positions", m.free_positions);
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
  a.numbers("top_token_ids", m.top_token_ids);
  a.numbers("top_logprobs", m.top_logprobs);
  a.optional("error", m.error);
  a.optional("lost_page", m.lost_page);
  a.optional("selected_tokens", m.selected_tokens);
  a.optional("drafted_tokens", m.drafted_tokens);
  a.optional("accepted_tokens", m.accepted_tokens);
  a.required("draft_record", m.draft_record);
  a.optional("indexed_pages", m.indexed_pages);
}

template <class A, Is<DecodeDone> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("compute_us", m.compute_us);
  a.required("steps", m.steps);
  a.required("sequences", m.sequences);
}

template <class A, Is<ClientGone> M>
void fields(A&, M&) {}

}  // namespace cascade::wire
