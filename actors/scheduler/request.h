// A generation on its way through the scheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/chain_sequence.h"
#include "model/output_stream.h"
#include "wire/messages.h"

namespace cascade {

enum class RequestState {
  kEncoding,    // the prefill actor tokenizes the prompt
  kWaiting,     // for a place among the running ones, and for pages
  kPrefilling,  // slices of the prompt are computed
  kDecoding,    // tokens are sampled
};

struct Request {
  uint64_t handle = 0;  // names it in jobs
  std::string client;
  wire::RequestId id{};
  wire::GenerateRequest params;
  RequestState state = RequestState::kEncoding;

  std::vector<ChatMessage> messages;  // empty for a raw prompt
  std::vector<int32_t> prompt;
  std::string generation_prefix;
  bool inside_think = false;
  int32_t max_tokens = 0;
  wire::SampleSpec sample;
  std::vector<int32_t> end_tokens;

  std::unique_ptr<ChainSequence> sequence;  // from kPrefilling on
  int64_t pages_promised = 0;               // that the whole generation may take
  int overtaken = 0;  // later requests that started while this one waited for pages
  int64_t reused_tokens = 0;
  std::vector<int32_t> sampled;  // the last of them is not committed yet
  std::vector<float> logprobs;
  std::unique_ptr<OutputStream> output;

  // Set while a job works on the request: it ends when the job does.
  std::string pending_finish;  // finish_reason, or
  std::optional<Error> pending_error;
  bool client_gone = false;

  int64_t accepted_us = 0;
  int64_t prefill_start_us = 0;
  int64_t first_token_us = 0;
  int64_t last_sent_us = 0;

  int64_t deadline_us() const {
    return params.timeout_ms > 0 ? accepted_us + params.timeout_ms * 1000 : INT64_MAX;
  }
};

// The exact K and V of a retained output's chain, computed when nothing else is to do.
struct Reprefill {
  std::string chunk_id;
  std::vector<int32_t> chain;
  // The chain as it was sampled: where it differs (thoughts, an empty think block of the generation
  // prompt), the rest of it is a branch that no later turn reaches.
  std::vector<int32_t> sampled_chain;
  size_t prompt_tokens = 0;                 // of the sampled chain
  std::unique_ptr<ChainSequence> sequence;  // once started
};

}  // namespace cascade
