// Random messages of every type that decode() accepts, and random damage to their frames.
#pragma once

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

// Random content obeys the rules of requests after these.
inline void make_valid(Random& random, GenerateRequest& request) {
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
    if (i + 1 == request.chunks.size()) chunk.type = ChunkType::kQuery;
    (random.below(2) == 0 ? chunk.id : chunk.text) = random_id_text(random);
  }
  if (kind == 1) request.messages.emplace_back();
  const std::array<const char*, 4> roles = {"user", "tool", "assistant", "system"};
  for (ChatMessage& message : request.messages) message.role = roles[random.below(4)];
  if (kind == 1) request.messages.back().role = roles[random.below(2)];
  request.max_tokens &= INT32_MAX;
  request.timeout_ms &= INT64_MAX;
  SamplingParams& sampling = request.sampling;
  if (sampling.temperature) sampling.temperature = random.unit() * kTemperatureMax;
  if (sampling.top_p) sampling.top_p = 1 - random.unit();
  if (sampling.top_k) sampling.top_k = static_cast<int32_t>(random.below(kTopKMax + 1));
  if (sampling.min_p) sampling.min_p = random.unit();
  if (sampling.repetition_penalty) sampling.repetition_penalty = 100 - random.unit();
  for (std::string& stop : request.stop) stop = "s" + random_text(random, 60);
}

inline void make_valid(Random& random, ChunkListRequest& request) {
  request.limit = 1 + static_cast<int32_t>(random.below(kListLimitMax));
  request.after = random_text(random, 20);
}

inline void make_valid(Random& random, ChunkGet& request) {
  request.id = random_id_text(random);
}
inline void make_valid(Random& random, ChunkDelete& request) {
  request.id = random_id_text(random);
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
  constexpr size_t kTypes = std::variant_size_v<Message>;
  envelope.message = random_message(random, type, std::make_index_sequence<kTypes>());
  return envelope;
}

inline Envelope random_envelope(Random& random) {
  return random_envelope(random, random.below(std::variant_size_v<Message>));
}

inline Frame random_bytes(Random& random, size_t bytes_max) {
  Frame frame(random.below(bytes_max + 1), '\0');
  for (char& byte : frame) byte = static_cast<char>(random.below(256));
  return frame;
}

// One change to one frame, mostly the body.
inline void damage(Random& random, Frames& frames) {
  const size_t chosen = random.below(4) != 0 && frames.size() > 2 ? 2 : random.below(frames.size());
  Frame& frame = frames[chosen];
  const size_t offset = random.below(frame.size() + 1);
  switch (random.below(8)) {
    case 0:
      frame.resize(offset);
      break;
    case 1:
      frame.insert(offset, random_bytes(random, 8));
      break;
    case 2:
      frame.erase(offset, random.below(6));
      break;
    case 3:
      frames.erase(frames.begin() + static_cast<ptrdiff_t>(chosen));
      break;
    case 4:
      frames.push_back(random_bytes(random, 40));
      break;
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
