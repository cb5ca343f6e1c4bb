// Keys of CurveZMQ (ZeroMQ RFC 26), which encrypt tcp connections and identify clients, and the
// files that hold them: those of czmq's zcert and of pyzmq's zmq.auth.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade::curve {

// In Z85 (ZeroMQ RFC 32): 40 characters for 32 bytes.
struct KeyPair {
  std::string public_key;
  std::string secret_key;
};

// Whether `text` can be a key: 40 characters of Z85.
bool is_key(std::string_view text);
// The Z85 of 32 bytes. Precondition: bytes.size() == 32.
std::string key_of_bytes(std::string_view bytes);

// A new pair from the system's generator; the public key does not begin with '-', so that it can be
// an argument of a command.
// Errors: kUnsupported if libzmq was built without CURVE.
Result<KeyPair> new_key_pair();

// The text of a file with both keys.
std::string key_file_text(const KeyPair& keys);
// Reads lines `public-key = "..."` and `secret-key = "..."`, indented or not; skips others.
// Errors: kInvalidArgument, field "public-key" or "secret-key": missing, not a key, or the two are
// not a pair.
Result<KeyPair> parse_key_file(std::string_view text);

}  // namespace cascade::curve
