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

// nullopt for endpoints that are not tcp://. An empty argument: $CASCADE_SERVER_KEY, or
// $CASCADE_KEY_FILE, of a file with the client's own pair. Reads the environment: not while another
// thread changes it.
// Errors: kInvalidArgument, field "server_key" or "key_file": missing, or no key; as read_file.
Result<std::optional<ClientKeys>> client_keys(const std::string& endpoint, std::string server_key,
                                              std::string key_file);

}  // namespace cascade::client
