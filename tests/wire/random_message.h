// Random messages of every type that decode() accepts, and random damage to their frames.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "tests/seed.h"
#include "tests/wire/message_archives.h"
#include "wire/frames.h"
#include "wire/request_rules.h"

namespace cascade::wire::testing {

using cascade::testing::test_seed;

inline std::string random_id_text(Random& random) {
  std::string id = random_text(random, 20);
  return id.empty() ? "chunk_0" : id;
}

// These functions make random content obey the rules of requests.
inline void make_valid(Random& random, std::optional<std::string>& name,
                       std::optional<int64_t>& ttl_ms, std::optional<int32_t>& priority,
                       std::optional<int64_t>& priority_ms) {
  if (name) name = std::string(random.below(kNameBytesMax + 1), 'n');
  if (ttl_ms) ttl_ms = static_cast<int64_t>(random.below(kDurationMsMax + 1));
  if (priority) priority = static_cast<int32_t>(random.below(kChunkPriorityMax + 1));
  if (!priority) priority_ms.reset();
  if (priority_ms) priority_ms = 1 + static_cast<int64_t>(random.below(kDurationMsMax));
}

// Chooses one of the three ways to give a prompt. `last`: the type of the last chunk.
template <class R>
void make_valid_prompt(Random& random, R& request, ChunkType last) {
  const uint64_t kind = random.below(3);
  if (kind != 0) request.chunks.clear();
  if (kind != 1) request.messages.clear();
  request.prompt.reset();
  if (kind == 2) request.prompt = "p" + random_text(random, 30);
  if (kind == 0) request.chunks.emplace_back();
  for (size_t i = 0; i < request.chunks.size(); ++i) {
    ChunkRef& chunk = request.chunks[i];
    chunk = {random.below(2) == 0 ? ChunkType::kContext : ChunkType::kOutput, "", ""};
    if (i == 0 && random.below(2) == 0) chunk.type = ChunkType::kSystemPrompt;
    if (i + 1 == request.chunks.size()) chunk.type = last;
    (random.below(2) == 0 ? chunk.id : chunk.text) = random_id_text(random);
  }
  if (kind == 1) request.messages.emplace_back();
  const std::array<const char*, 4> roles = {"user", "tool", "assistant", "system"};
  for (ChatMessage& message : request.messages) message.role = roles[random.below(4)];
  if (kind == 1) request.messages.back().role = roles[random.below(2)];
  request.timeout_ms &= INT64_MAX;
}

// A name has a single line, which random texts do not.
inline std::string random_name(Random& random) {
  return "name " + std::to_string(random.below(1000));
}

// Tools and calls are JSON arrays.
inline void make_valid_calls(Random& random, std::vector<ChatMessage>& messages) {
  for (ChatMessage& message : messages) {
    message.tool_calls = random.below(2) == 0 ? "" : R"([{"id":"call"}])";
  }
}

// Lets the answer continue the last message, or not.
template <class R>
void make_valid_end(Random& random, R& request) {
  const bool goes_on = !request.messages.empty() && random.below(3) == 0;
  request.continue_final_message.reset();
  if (goes_on || random.below(3) == 0) request.continue_final_message = goes_on;
  if (!goes_on) return;
  ChatMessage& last = request.messages.back();
  last.role = "assistant";
  last.content += "so far";
  last.tool_calls.clear();
}

inline void make_valid_effort(Random& random, std::optional<std::string>& effort) {
  if (effort) effort = std::string(1 + random.below(kReasoningEffortBytesMax), 'e');
}

inline void make_valid(Random& random, GenerateRequest& request) {
  make_valid_prompt(random, request, ChunkType::kQuery);
  make_valid_calls(random, request.messages);
  make_valid_end(random, request);
  if (request.continue_final_message.value_or(false)) request.grammar.reset();
  const bool by_ids = request.prompt && random.below(2) == 0;
  if (!by_ids) request.prompt_token_ids.clear();
  if (by_ids) request.prompt_token_ids.push_back(1);
  if (by_ids) request.prompt.reset();
  request.tools = request.messages.empty() ? "" : "[{}]";
  request.max_tokens &= INT32_MAX;
  SamplingParams& sampling = request.sampling;
  if (sampling.temperature) sampling.temperature = random.unit() * kTemperatureMax;
  if (sampling.top_p) sampling.top_p = 1 - random.unit();
  if (sampling.top_k) sampling.top_k = static_cast<int32_t>(random.below(kTopKMax + 1));
  if (sampling.min_p) sampling.min_p = random.unit();
  if (sampling.repetition_penalty) sampling.repetition_penalty = 100 - random.unit();
  if (sampling.presence_penalty) sampling.presence_penalty = 4 * random.unit() - 2;
  if (sampling.frequency_penalty) sampling.frequency_penalty = 4 * random.unit() - 2;
  for (size_t i = 0; i < sampling.logit_bias.size(); ++i) {
    const auto token = static_cast<int32_t>(i << 24 | random.below(1 << 24));
    sampling.logit_bias[i] = {token, 200 * random.unit() - 100};
  }
  request.top_logprobs =
      request.logprobs ? static_cast<int32_t>(random.below(kTopLogprobsMax + 1)) : 0;
  if (request.delta_credit) {
    request.delta_credit = static_cast<int32_t>(random.below(kDeltaCreditMax + 1));
  }
  for (std::string& stop : request.stop) stop = "s" + random_text(random, 60);
  if (request.grammar) {
    const bool plain = request.grammar->kind == GrammarKind::kJsonObject;
    request.grammar->schema = plain ? "" : "g" + random_text(random, 60);
    request.ignore_eos = false;
  }
  if (request.attention) request.attention = random_text(random, kAttentionBytesMax / 4);
  make_valid_effort(random, request.reasoning_effort);
  request.retain_output = true;
  make_valid(random, request.output_name, request.output_ttl_ms, request.output_priority,
             request.output_priority_ms);
  if (request.prompt_priority.has_value() != request.prompt_priority_ms.has_value()) {
    request.prompt_priority = 1;
    request.prompt_priority_ms = 1;
  }
  const bool in_session = !request.chunks.empty() && random.below(2) == 0;
  request.session = in_session ? random_name(random) : "";
  const bool goes_on = !in_session && !request.prompt && !by_ids && random.below(2) == 0;
  request.previous_output = goes_on ? random_name(random) + "o" : "";
  if (request.messages.empty() && request.chunks.empty()) request.on_overflow.reset();
  if (request.messages.empty()) request.parents.clear();
  for (std::string& parent : request.parents) parent = random_name(random) + "p";
  std::optional<std::string> no_name;
  std::optional<int64_t> no_ttl;
  make_valid(random, no_name, no_ttl, request.prompt_priority, request.prompt_priority_ms);
}

inline void make_valid(Random& random, PrefixCache& request) {
  make_valid_prompt(random, request, ChunkType::kContext);
  make_valid_effort(random, request.reasoning_effort);
  make_valid_calls(random, request.messages);
}
inline void make_valid(Random& random, TokenizeRequest& request) {
  request.text += random_id_text(random);
}
inline void make_valid(Random&, DetokenizeRequest& request) {
  request.token_ids.push_back(1);
}
inline void make_valid(Random& random, ApplyTemplateRequest& request) {
  request.messages.resize(1 + request.messages.size());
  for (ChatMessage& message : request.messages) message.role = "user";
  make_valid_calls(random, request.messages);
  make_valid_end(random, request);
  make_valid_effort(random, request.reasoning_effort);
  request.tools = random.below(2) == 0 ? "" : "[]";
}

inline void make_valid(Random& random, ChunkPut& request) {
  const bool ids = !request.token_ids.empty() && random.below(2) == 0;
  request.text = ids ? "" : random_id_text(random);
  if (!ids) request.token_ids.clear();
  make_valid(random, request.name, request.ttl_ms, request.priority, request.priority_ms);
}

inline void make_valid(Random& random, ChunkUpdate& request) {
  request.id = random_id_text(random);
  request.touch = true;
  make_valid(random, request.name, request.ttl_ms, request.priority, request.priority_ms);
}

inline void make_valid(Random& random, ChunkListRequest& request) {
  request.limit = 1 + static_cast<int32_t>(random.below(kListLimitMax));
  request.after = random_text(random, 20);
}

inline void make_valid(Random& random, ChunkSearch& request) {
  request.limit = 1 + static_cast<int32_t>(random.below(kListLimitMax));
  request.query = random_id_text(random);
}
inline void make_valid(Random& random, ChunkGet& request) {
  request.id = random_id_text(random);
}
inline void make_valid(Random& random, ChunkDelete& request) {
  request.id = random_id_text(random);
  request.name = random_name(random);
  if (request.all.value_or(false)) request.name.clear();
}
inline void make_valid(Random& random, SessionListRequest& request) {
  request.limit = 1 + static_cast<int32_t>(random.below(kListLimitMax));
}
inline void make_valid(Random& random, SessionGet& request) {
  request.id = random_name(random);
}
inline void make_valid(Random& random, SessionDelete& request) {
  request.id = random_name(random);
}
inline void make_valid(Random& random, PolicySet& request) {
  request.ttl_ms = static_cast<int64_t>(random.below(kDurationMsMax));
}
inline void make_valid(Random& random, DeltaCredit& request) {
  request.deltas = 1 + static_cast<int32_t>(random.below(kDeltaCreditMax));
}
inline void make_valid(Random& random, EventsRequest& request) {
  request.after &= INT64_MAX;
  request.boot_id = random.below(2) == 0 ? "" : random_id_text(random);
  request.limit = 1 + static_cast<int32_t>(random.below(kListLimitMax));
}
inline void make_valid(Random& random, PrefixAttach& request) {
  request.id = random_id_text(random);
}
inline void make_valid(Random& random, PrefixRelease& request) {
  request.id = random_id_text(random);
}
inline std::string random_path(Random& random) {
  std::string path = "/" + random_text(random, 20);
  std::replace(path.begin(), path.end(), '\0', '0');
  return path;
}
inline void make_valid(Random& random, FsckRequest& request) {
  request.state_dir = random.below(2) == 0 ? "" : random_path(random);
}
inline void make_valid(Random& random, BackupRequest& request) {
  request.directory = random_path(random);
  request.state_dir = random.below(2) == 0 ? "" : random_path(random);
}
inline std::string random_model(Random& random) {
  return "Model-" + std::to_string(random.below(1000)) + ".q8_0";
}
inline void make_valid(Random& random, ModelLoad& request) {
  request.name = random_model(random);
}
inline void make_valid(Random& random, ModelUnload& request) {
  request.name = random_model(random);
}
inline void make_valid(Random& random, StoreCheck& job) {
  make_valid(random, job.request);
}
inline void make_valid(Random& random, StoreBackup& job) {
  make_valid(random, job.request);
}
template <class M>
void make_valid(Random&, M&) {}

template <size_t... types>
Message random_message(Random& random, size_t type, std::index_sequence<types...>) {
  Message message;
  const auto fill = [&](auto& alternative) {
    RandomFill archive(random);
    fields(archive, alternative);
    make_valid(random, alternative);
  };
  (void)((type == types ? (fill(message.emplace<types>()), true) : false) || ...);
  return message;
}

inline Envelope random_envelope(Random& random, size_t type) {
  Envelope envelope;
  for (uint8_t& byte : envelope.request) byte = static_cast<uint8_t>(random.below(256));
  constexpr size_t kTypes = std::variant_size_v<AnyMessage>;
  envelope.message = random_message(random, type, std::make_index_sequence<kTypes>());
  const bool may_name = is_from_client(type) && !is_about_models(type);
  if (may_name && random.below(2) == 0) envelope.model = random_model(random);
  return envelope;
}

inline Envelope random_envelope(Random& random) {
  return random_envelope(random, random.below(std::variant_size_v<AnyMessage>));
}

inline Frame random_bytes(Random& random, size_t bytes_max) {
  Frame frame(random.below(bytes_max + 1), '\0');
  for (char& byte : frame) byte = static_cast<char>(random.below(256));
  return frame;
}

// Makes one change to one frame, mostly the body.
inline void damage(Random& random, Frames& frames) {
  const size_t chosen = random.below(4) != 0 && frames.size() > 2 ? 2 : random.below(frames.size());
  Frame& frame = frames[chosen];
  const size_t offset = random.below(frame.size() + 1);
  switch (random.below(8)) {
    case 0: frame.resize(offset); break;
    case 1: frame.insert(offset, random_bytes(random, 8)); break;
    case 2: frame.erase(offset, random.below(6)); break;
    case 3: frames.erase(frames.begin() + static_cast<ptrdiff_t>(chosen)); break;
    case 4: frames.push_back(random_bytes(random, 40)); break;
    case 5:
      if (!frame.empty()) {
        frame[random.below(frame.size())] ^= static_cast<char>(1 << random.below(8));
      }
      break;
    default:
      if (!frame.empty()) frame[random.below(frame.size())] = static_cast<char>(random.below(256));
  }
}

}  // namespace cascade::wire::testing
