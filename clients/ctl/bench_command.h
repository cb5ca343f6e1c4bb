// cascadectl bench: how fast the running daemon is, with its model and on its machine.
#pragma once

#include <cstdint>

#include "clients/cpp/client.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

struct BenchOptions {
  int32_t prompt_tokens = 512;  // approximate: tokenizers split the numbers of a prompt differently
  int32_t tokens = 64;          // of an answer
  int32_t batch = 8;            // answers at once
  int32_t repeat = 3;           // repetitions; medians over them are printed
};

// Sends prompts that nobody has sent before, then the same prompts again, then several at once. The
// figures include the effect of the daemon's other users. Shows progress on a terminal. Returns the
// exit code.
int run_bench(client::Client& client, Screen& screen, const BenchOptions& options);

}  // namespace cascade::ctl
