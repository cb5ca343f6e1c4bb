// Frames <-> Message: the envelope, its limits, and the table of message types.
#include "wire/frames.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/message_size.h"
#include "wire/reply_fields.h"
#include "wire/request_fields.h"
#include "wire/request_rules.h"
#include "wire/store_fields.h"

namespace cascade::wire {
namespace {

constexpr std::string_view kMagic = "CAS1";
constexpr size_t kHeaderBytes = 8;  // magic, version, type, flags
constexpr size_t kFixedFrames = 3;  // header, request id, body
constexpr size_t kTypeCount = std::variant_size_v<AnyMessage>;
static_assert(kTypeCount <= 256, "the type number is one byte");

uint8_t byte_at(const Frame& frame, size_t offset) {
  return static_cast<uint8_t>(frame[offset]);
}

template <size_t type>
void read_message(ReadState& state, Message& message, std::string& model) {
  auto& alternative = message.emplace<type>();
  FieldReader reader(state, 0, nullptr);
  if (!reader.ok()) return;
  fields(reader, alternative);
  if (!reader.ok()) return;
  if (is_from_client(type) && !is_about_models(type)) reader.optional("model", model);
  if (!reader.ok()) return;
  if (!model.empty()) {
    const Status named = check_model_name("model", model);
    if (!named.ok()) return state.fail(named.error().field, named.error().message);
  }
  const Status checked = check_request(std::as_const(alternative));
  if (!checked.ok()) state.fail(checked.error().field, checked.error().message);
}

using ReadFunction = void (*)(ReadState&, Message&, std::string& model);

template <size_t... types>
constexpr std::array<ReadFunction, sizeof...(types)> read_functions(std::index_sequence<types...>) {
  return {&read_message<types>...};
}

constexpr auto kReadFunctions = read_functions(std::make_index_sequence<kTypeCount>());

Status check_sizes(std::span<const Frame> frames) {
  if (frames.size() < kFixedFrames || frames.size() > kFrameCountMax) {
    return invalid_argument("frames", "a message has between " + std::to_string(kFixedFrames) +
                                          " and " + std::to_string(kFrameCountMax) +
                                          " frames, got " + std::to_string(frames.size()));
  }
  size_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.size();
  if (bytes > kMessageBytesMax) {
    return invalid_argument("frames", "have " + std::to_string(bytes) +
                                          " bytes, more than the limit of " +
                                          std::to_string(kMessageBytesMax));
  }
  if (frames[1].size() != RequestId().size()) {
    return invalid_argument("request_id",
                            "must have 16 bytes, got " + std::to_string(frames[1].size()));
  }
  return {};
}

// Returns the type number.
Result<size_t> check_header(const Frame& header) {
  if (header.size() != kHeaderBytes) {
    return invalid_argument("header", "must have " + std::to_string(kHeaderBytes) + " bytes, got " +
                                          std::to_string(header.size()));
  }
  if (std::string_view(header).substr(0, kMagic.size()) != kMagic) {
    return invalid_argument("magic", "the message does not begin with " + std::string(kMagic));
  }
  const int version = byte_at(header, 4);
  if (version != kProtocolVersion) {
    return unsupported("version", "protocol version " + std::to_string(version) +
                                      " is not supported; this is version " +
                                      std::to_string(kProtocolVersion));
  }
  if (byte_at(header, 6) != 0 || byte_at(header, 7) != 0) {
    return invalid_argument("flags", "must be 0");
  }
  const size_t type = byte_at(header, 5);
  if (type >= kTypeCount) {
    return unsupported("type", "message type " + std::to_string(type) + " is unknown");
  }
  return type;
}

// Checks that a message can be sent, and returns how much room to reserve for its body. Most
// messages are small: texts are read for this only in messages that might be too large.
Result<size_t> body_bytes_of(const Envelope& envelope) {
  MessageSizer at_most(MessageSizer::Texts::kAtMost);
  std::visit([&](const auto& message) { at_most.request(message, envelope.model); },
             envelope.message);
  constexpr size_t kReservedMax = 4096;  // the estimate, three times the texts, may be far too high
  if (!at_most.problem()) return std::min(at_most.body_bytes(), kReservedMax);
  MessageSizer exact(MessageSizer::Texts::kExactly);
  std::visit([&](const auto& message) { exact.request(message, envelope.model); },
             envelope.message);
  if (const auto problem = exact.problem()) return *problem;
  return exact.body_bytes();
}

}  // namespace

Result<Frames> encode(const Envelope& envelope) {
  ASSIGN_OR_RETURN(const size_t body_bytes, body_bytes_of(envelope));
  Frame header(kMagic);
  header.push_back(static_cast<char>(kProtocolVersion));
  header.push_back(static_cast<char>(envelope.message.index()));
  header.append(2, '\0');
  Frames frames(kFixedFrames);
  frames[0] = std::move(header);
  frames[1].assign(envelope.request.begin(), envelope.request.end());
  std::string body;
  body.reserve(body_bytes);
  FieldWriter writer(body, frames);
  std::visit([&](const auto& message) { writer.request(message, envelope.model); },
             envelope.message);
  frames[2] = std::move(body);
  return frames;
}

Result<Envelope> decode(std::span<const Frame> frames) {
  RETURN_IF_ERROR(check_sizes(frames));
  ASSIGN_OR_RETURN(const size_t type, check_header(frames[0]));
  ASSIGN_OR_RETURN(const ValueTree tree, ValueTree::parse(frames[2]));
  ReadState state(tree, frames.subspan(kFixedFrames));
  Envelope envelope;
  envelope.request = peek_request_id(frames);
  kReadFunctions[type](state, envelope.message, envelope.model);
  if (!state.ok()) return *state.error();
  return envelope;
}

RequestId peek_request_id(std::span<const Frame> frames) {
  RequestId request{};
  if (frames.size() > 1 && frames[1].size() == request.size()) {
    std::copy(frames[1].begin(), frames[1].end(), request.begin());
  }
  return request;
}

}  // namespace cascade::wire
