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

// Makes a key, prints it, and adds its line (tenant, SHA-256) to the file, if one is named, which
// is made with mode 0600 if it is not there. With `curve`: a key pair, of which the public key is
// printed, and which is written to the file, a new one with mode 0600. Returns the exit code.
int run_key_new(Screen& screen, const KeyOptions& options);

// Adds the public key of a client to the daemon's file of those that may connect over TCP.
int run_key_allow(Screen& screen, const KeyOptions& options);

// Takes a key out of a file: an API key or its hash, or a public key. The file is replaced in one
// step. kExitFailed if it is not in there.
int run_key_revoke(Screen& screen, const KeyOptions& options);

}  // namespace cascade::ctl
