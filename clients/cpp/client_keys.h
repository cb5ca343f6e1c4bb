// The keys of a connection over tcp.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "wire/curve/key_pair.h"

namespace cascade::client {

struct ClientKeys {
  std::string server_key;  // the daemon's public key
  curve::KeyPair own;
};

// Returns nullopt for endpoints that are not tcp://. An empty `server_key` means
// $CASCADE_SERVER_KEY; an empty `key_file`, the file with the client's own key pair, means
// $CASCADE_KEY_FILE. Reads the environment, so no other thread may change it meanwhile. Errors:
// kInvalidArgument, field "server_key" or "key_file", if it is missing or not a key; those of
// read_file.
Result<std::optional<ClientKeys>> client_keys(const std::string& endpoint, std::string server_key,
                                              std::string key_file);

}  // namespace cascade::client
