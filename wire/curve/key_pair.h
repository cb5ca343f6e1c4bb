// Keys of CurveZMQ (ZeroMQ RFC 26), which tcp connections are encrypted and clients are known by,
// and the files that hold them: those of czmq's zcert and of pyzmq's zmq.auth.
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
// Lines of `public-key = "..."` and `secret-key = "..."`, indented or not; others are left out.
// Errors: kInvalidArgument, field "public-key" or "secret-key": missing, no key, or not those of
// one pair.
Result<KeyPair> parse_key_file(std::string_view text);

}  // namespace cascade::curve
