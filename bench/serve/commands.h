// The commands of cascade-bench that measure the service. Each starts a daemon of its own,
// measures, prints its report to standard output, stops the daemon and returns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::serve {

struct ServeOptions {
  std::string model_dir;
  std::string cascaded;  // the program; empty: the one in this program's folder
  std::string weights = "int8";
  std::string kv = "int8";
  int threads = 0;                       // 0: the daemon's default
  std::string kv_memory;                 // as cascaded takes it; empty: the daemon's default
  std::vector<std::string> daemon_args;  // passed on as they are
  uint64_t seed = 1;                     // of texts and arrivals
  bool json = false;
};

struct ChatOptions {
  ServeOptions serve;
  int64_t turns = 10;
  int64_t max_tokens = 256;  // per answer, thoughts included
  int64_t system_tokens = 512;
  int64_t query_tokens = 16;  // of a question with notes; if too few for notes, only the question
};

struct OverloadOptions {
  ServeOptions serve;
  double seconds = 300;
  double capacity_seconds = 30;  // for each of the two measurements of capacity
  double factor = 4;
  int64_t running = 16;  // requests that the daemon runs at once; also the clients of the closed
                         // loop
  int64_t connections = 8;
  int64_t prompt_tokens = 128;
  int64_t max_tokens = 64;  // of an answer, on average
};

struct VanishOptions {
  ServeOptions serve;
  int64_t clients = 1000;
  int64_t at_once = 32;  // connections open at once, besides the steady ones
  int64_t steady = 4;
  int64_t prompt_tokens = 64;
  int64_t max_tokens = 64;
  int64_t steady_tokens = 128;
  double settle_seconds = 60;
};

struct FairnessOptions {
  ServeOptions serve;
  int64_t samples = 16;
  int64_t pause_ms = 500;  // mean pause between two requests of the light tenant
  int64_t light_prompt_tokens = 300;
  int64_t light_max_tokens = 16;
  int64_t tenants = 2;   // including the light one; the others flood
  int64_t flood = 128;   // requests that each flooding tenant has in flight
  bool patient = false;  // refused requests are sent again when the daemon says so, not at once
  int64_t flood_prompt_tokens = 256;
  int64_t flood_max_tokens = 128;
  bool one_tenant = false;
};

struct InterferenceOptions {
  ServeOptions serve;
  int64_t prompt_tokens = 0;  // 0: 16,000, or as many as the context holds
  int64_t decodes = 4;
  int64_t decode_tokens = 4096;
  double seconds = 10;  // of undisturbed decodes
  int64_t repeats = 3;
};

struct RestoreOptions {
  ServeOptions serve;
  int64_t prompt_tokens = 0;  // 0: 16,000, or as many as the context holds
  int64_t repeats = 3;
  int64_t decodes = 4;
  int64_t decode_tokens = 512;
  int64_t rounds = 5;   // of decodes with and without pages written
  double seconds = 10;  // of each measurement
};

struct RegistryOptions {
  ServeOptions serve;
  int64_t chunks = 100'000;  // the most that one tenant may have
  int64_t tokens = 24;       // about, in each chunk
  int64_t connections = 32;  // that register the chunks
  int64_t repeats = 50;      // of each question
  int64_t starts = 3;
};

struct GatewayOptions {
  ServeOptions serve;
  int64_t requests = 500;  // through each door
  int64_t warm_up = 20;
  int64_t prompt_tokens = 64;
  int64_t tokens = 4;  // of each answer
};

struct IsolationOptions {
  ServeOptions serve;
  int64_t probes = 500;  // in half of them another tenant has sent the same prompt
  int64_t prompt_tokens = 2000;
};

struct SlowClientsOptions {
  ServeOptions serve;
  int64_t connections = 1000;
  int64_t pace_ms = 1000;   // between two bytes of each connection
  int64_t rounds = 3;       // each measures alone and beside the slow connections
  int64_t requests = 1200;  // through each door, in each half of a round
  int64_t warm_up = 30;     // before the measured ones
  int64_t prompt_tokens = 64;
  int64_t tokens = 16;  // of each answer
};

// Errors of all commands below: kInvalidArgument and others, with an option as field, if the
// options do not fit the model or each other (before anything starts); those of
// DaemonProcess::start, Traffic, client::Client and io_error.

// Holds a conversation in three ways, turn by turn: `retained` (requests name the outputs, which
// are prefilled again without their thoughts while the user thinks), `prefix_only` (requests name
// the outputs, whose KV is dropped), `no_reuse` (requests send the conversation as messages, and
// nothing is reused). Error: kInternal, after the report, if the ways gave different tokens.
Status chat(const ChatOptions& options);

// Measures the capacity in a closed loop, then FACTOR times that load in an open loop, then the
// capacity again.
Status overload(const OverloadOptions& options);

// Clients close their sockets without a word, beside steady clients. Error: kInternal, after the
// report, if a slot stays taken or a steady client's output changed.
Status vanish(const VanishOptions& options);

// The time to first text of a light tenant, alone and beside others that flood. A tenant is an
// endpoint (cascaded --tenant); with `one_tenant` all clients use the default one.
Status fairness(const FairnessOptions& options);

// Running decodes beside the prefill of a long prompt, and beside one that is cancelled.
//
// The measure for decodes is the gap between two Deltas of a stream, as a reader sees it. A Delta
// holds all tokens of a burst of steps, and the protocol does not say how many. So the report also
// has their mean number, from the daemon's counter of generated tokens.
Status interference(const InterferenceOptions& options);

// What outlives the daemon: a long prompt after a kill -9, K and V read from the daemon's files,
// and how much writing them costs running decodes. Error: kInternal, after the report, if an answer
// differs.
Status restore(const RestoreOptions& options);

// Many chunks: how long a start after a kill -9, a page of the list, a search and a look-up take,
// compared with a hundredth of the chunks.
Status registry(const RegistryOptions& options);

// The time that a request takes beyond the engine's own (Final's total_us), over ZeroMQ and over
// HTTP.
Status gateway(const GatewayOptions& options);

// How long a steady client waits, alone and beside HTTP connections that are slow in four ways
// (SlowCrowd).
Status slow_clients(const SlowClientsOptions& options);

// Two tenants: whether one tenant's time to the first token tells what the other has sent, and how
// much faster its own prompts are when they are sent again.
Status isolation(const IsolationOptions& options);

}  // namespace cascade::serve
