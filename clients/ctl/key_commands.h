// The cascadectl key commands: API keys of the HTTP gateway, CURVE keys of clients that use TCP. No
// daemon is asked: it reads the files when it starts or is reloaded.
#pragma once

#include <string>

#include "clients/ctl/screen.h"

namespace cascade::ctl {

struct KeyOptions {
  std::string tenant = "local";
  std::string file;
  std::string key;     // of `allow` and `revoke`
  bool curve = false;  // of `new`: a pair for TCP
};

// Makes an API key, prints it, and, if a file is named, appends its line (tenant, SHA-256) to the
// file. If there is no such file, makes it with mode 0600. With `curve`: makes a key pair, prints
// the public key, and writes the pair to a new file with mode 0600. Returns the exit code.
int run_key_new(Screen& screen, const KeyOptions& options);

// Adds a client's public key to the daemon's file of keys that may connect over TCP.
int run_key_allow(Screen& screen, const KeyOptions& options);

// Removes a key from a file: an API key (given as the key or its hash) or a public key. The file is
// replaced in one step. Returns kExitFailed if the key is not in the file.
int run_key_revoke(Screen& screen, const KeyOptions& options);

}  // namespace cascade::ctl
