// Keys come from the options first, then from the environment.
#include "clients/cpp/client_keys.h"

#include <cstdlib>

#include "base/text_file.h"

namespace cascade::client {
namespace {

constexpr size_t kKeyFileBytesMax = size_t{64} << 10;

std::string or_environment(std::string given, const char* name) {
  if (!given.empty()) return given;
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<std::optional<ClientKeys>> client_keys(const std::string& endpoint, std::string server_key,
                                              std::string key_file) {
  if (!endpoint.starts_with("tcp://")) return std::optional<ClientKeys>();
  ClientKeys keys;
  keys.server_key = or_environment(std::move(server_key), "CASCADE_SERVER_KEY");
  const std::string path = or_environment(std::move(key_file), "CASCADE_KEY_FILE");
  if (keys.server_key.empty()) {
    return invalid_argument("server_key", "tcp needs the daemon's public key (CASCADE_SERVER_KEY)");
  }
  if (!curve::is_key(keys.server_key)) {
    return invalid_argument("server_key", "must have 40 characters of Z85");
  }
  if (path.empty()) {
    return invalid_argument("key_file",
                            "tcp needs a key of the client's own (CASCADE_KEY_FILE; cascadectl key "
                            "new --curve)");
  }
  const auto text = read_text_file(path, kKeyFileBytesMax);
  if (!text.ok()) return Error{text.error().code, "key_file", text.error().to_string()};
  auto own = curve::parse_key_file(*text);
  if (!own.ok()) return invalid_argument("key_file", path + ": " + own.error().to_string());
  keys.own = *std::move(own);
  return std::optional<ClientKeys>(std::move(keys));
}

}  // namespace cascade::client
