// The project's one message format: ZeroMQ frames <-> Message. Bytes only, no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/limits.h"
#include "wire/messages.h"

namespace cascade::wire {

// frame 0   8 bytes: "CAS1", u8 version, u8 type, u16 flags (little-endian, 0)
// frame 1  16 bytes: request id
// frame 2  a MessagePack map with string keys: the message's fields (unknown keys are ignored)
// frame 3… arrays of the message (token ids, pages: 32-bit little-endian), referred to by number
inline constexpr uint8_t kProtocolVersion = 1;

using Frame = std::string;
using Frames = std::vector<Frame>;

struct Envelope {
  RequestId request{};
  Message message;
  // The model that a client's request is meant for: the field "model" of its body. Empty: the
  // default model. Only client messages that are not themselves about models have it.
  std::string model{};
};

// Errors are shortened, so that a message with an error always fits. Error kInvalidArgument: a
// limit of limits.h is exceeded; the field is the innermost one that does not fit, or "frames" for
// the message as a whole.
Result<Frames> encode(const Envelope& envelope);

// The error is kUnsupported for another protocol version (field "version") or an unknown type
// number (field "type"). All other errors are kInvalidArgument, with the field: not our magic,
// wrong frame count or sizes, malformed MessagePack, a missing or ill-typed field, an unknown enum
// name, a string that is not UTF-8, a limit of limits.h exceeded.
// Ranges that depend on the model (max_tokens, token ids) are checked by the receiver.
Result<Envelope> decode(std::span<const Frame> frames);

// The request id of frames for which decode() failed, so that the error can be addressed. Zeros if
// the frames have none.
RequestId peek_request_id(std::span<const Frame> frames);

}  // namespace cascade::wire
