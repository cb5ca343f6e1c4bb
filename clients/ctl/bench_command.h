// cascadectl bench: how fast the daemon that runs is, with its model and on its machine.
#pragma once

#include <cstdint>

#include "clients/cpp/client.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

struct BenchOptions {
  int32_t prompt_tokens =
      512;              // about: a prompt is made of numbers, which tokenizers cut variously
  int32_t tokens = 64;  // of an answer
  int32_t batch = 8;    // answers at once
  int32_t repeat = 3;   // of which the medians are printed
};

// Prompts that nobody has sent before, then the same once more, then several at once. Other users
// of the daemon are in the figures. Returns the exit code; with progress on a terminal.
int run_bench(client::Client& client, Screen& screen, const BenchOptions& options);

}  // namespace cascade::ctl
