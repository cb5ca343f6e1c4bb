// libzmq makes the keys and encodes Z85. Only two lines of a file matter.
#include "wire/curve/key_pair.h"

#include <zmq.h>

#include <array>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/text_edges.h"

namespace cascade::curve {
namespace {

constexpr size_t kKeyCharacters = 40;
constexpr size_t kKeyBytes = 32;

// The text between the quotes of the line `name = "..."`. If there are several such lines, the last
// one counts.
std::optional<std::string> value_of(std::string_view text, std::string_view name) {
  std::optional<std::string> value;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || trimmed(line.substr(0, equals)) != name) continue;
    const std::string_view quoted = trimmed(line.substr(equals + 1));
    if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') continue;
    value = quoted.substr(1, quoted.size() - 2);
  }
  return value;
}

Result<std::string> key_in(std::string_view text, const std::string& name) {
  const std::optional<std::string> key = value_of(text, name);
  if (!key) return invalid_argument(name, "is missing: a line of " + name + " = \"...\"");
  if (!is_key(*key)) return invalid_argument(name, "must have 40 characters of Z85");
  return *key;
}

}  // namespace

bool is_key(std::string_view text) {
  std::array<uint8_t, kKeyBytes> bytes;
  if (text.size() != kKeyCharacters) return false;
  const std::string terminated(text);
  return terminated.find('\0') == std::string::npos &&
         zmq_z85_decode(bytes.data(), terminated.c_str()) != nullptr;
}

std::string key_of_bytes(std::string_view bytes) {
  CHECK(bytes.size() == kKeyBytes);
  std::string key(kKeyCharacters + 1, '\0');
  CHECK(zmq_z85_encode(key.data(), reinterpret_cast<const uint8_t*>(bytes.data()), kKeyBytes) !=
        nullptr);
  key.pop_back();
  return key;
}

Result<KeyPair> new_key_pair() {
  std::array<char, kKeyCharacters + 1> public_key{}, secret_key{};
  do {
    if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
      return unsupported("curve", "this libzmq was built without CURVE");
    }
  } while (public_key.front() == '-');
  return KeyPair{public_key.data(), secret_key.data()};
}

std::string key_file_text(const KeyPair& keys) {
  return "#   A key pair of CurveZMQ. Anybody with the secret key counts as its "
         "owner.\nmetadata\ncurve\n    public-key = \"" +
         keys.public_key + "\"\n    secret-key = \"" + keys.secret_key + "\"\n";
}

Result<KeyPair> parse_key_file(std::string_view text) {
  KeyPair keys;
  ASSIGN_OR_RETURN(keys.public_key, key_in(text, "public-key"));
  ASSIGN_OR_RETURN(keys.secret_key, key_in(text, "secret-key"));
  std::array<char, kKeyCharacters + 1> derived{};
  if (zmq_curve_public(derived.data(), keys.secret_key.c_str()) != 0) {
    return unsupported("curve", "this libzmq was built without CURVE");
  }
  if (keys.public_key != derived.data()) {
    return invalid_argument("public-key", "is not the one of the secret key");
  }
  return keys;
}

}  // namespace cascade::curve
