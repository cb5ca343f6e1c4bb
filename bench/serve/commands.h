// The service's commands of cascade-bench. Each starts a daemon of its own, measures, prints its
// report to standard output, stops the daemon and returns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::serve {

struct ServeOptions {
  std::string model_dir;
  std::string cascaded;  // the program; empty: the one beside this one
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
  int64_t max_tokens = 256;  // of an answer, thoughts included
  int64_t system_tokens = 512;
  int64_t query_tokens = 16;  // notes included; too few for notes: the question alone
};

struct OverloadOptions {
  ServeOptions serve;
  double seconds = 300;
  double capacity_seconds = 30;  // of each of the two measurements of capacity
  double factor = 4;
  int64_t running = 16;  // requests that the daemon runs together, and clients of the closed loop
  int64_t connections = 8;
  int64_t prompt_tokens = 128;
  int64_t max_tokens = 64;  // of an answer, in the mean
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
  int64_t pause_ms = 500;  // mean, between two requests of the light tenant
  int64_t light_prompt_tokens = 300;
  int64_t light_max_tokens = 16;
  int64_t tenants = 2;   // with the light one; the others flood
  int64_t flood = 128;   // requests that each of them has in flight
  bool patient = false;  // they ask again when they are told to, not at once
  int64_t flood_prompt_tokens = 256;
  int64_t flood_max_tokens = 128;
  bool one_tenant = false;
};

struct InterferenceOptions {
  ServeOptions serve;
  int64_t prompt_tokens = 0;  // 0: 16,000, or what the context holds
  int64_t decodes = 4;
  int64_t decode_tokens = 4096;
  double seconds = 10;  // undisturbed
  int64_t repeats = 3;
};

struct RestoreOptions {
  ServeOptions serve;
  int64_t prompt_tokens = 0;  // 0: 16,000, or what the context holds
  int64_t repeats = 3;
  int64_t decodes = 4;
  int64_t decode_tokens = 512;
  int64_t rounds = 5;   // of decodes with and without a state directory
  double seconds = 10;  // of each
};

struct RegistryOptions {
  ServeOptions serve;
  int64_t chunks = 100'000;  // what one tenant may have
  int64_t tokens = 24;       // of each, about
  int64_t connections = 32;  // that register them
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
  int64_t probes = 500;  // half of them of what another tenant has sent
  int64_t prompt_tokens = 2000;
};

struct SlowClientsOptions {
  ServeOptions serve;
  int64_t connections = 1000;
  int64_t pace_ms = 1000;   // between two bytes of each
  int64_t rounds = 3;       // alone and beside the slow ones
  int64_t requests = 1200;  // through each door, in each half of a round
  int64_t warm_up = 30;     // before what is measured
  int64_t prompt_tokens = 64;
  int64_t tokens = 16;  // of each answer
};

// Errors of all that follow: kInvalidArgument and others with an option as field where the options
// do not fit the model or each other, before anything starts; as DaemonProcess::start, Traffic,
// client::Client and io_error.

// A conversation in three ways, turn by turn: `retained` (outputs are named, and prefilled again
// without their thoughts while the user thinks), `prefix_only` (outputs are named, their KV
// dropped), `no_reuse` (the conversation as messages, nothing reused).
// Error: kInternal if the ways gave different tokens, after the report.
Status chat(const ChatOptions& options);

// Capacity in a closed loop; FACTOR times that in an open loop; capacity again.
Status overload(const OverloadOptions& options);

// Clients that close their sockets without a word beside steady ones. Error: kInternal, after the
// report, if a slot stays taken or a steady output changed.
Status vanish(const VanishOptions& options);

// Time to first text of a light tenant alone and beside others that flood. A tenant is an endpoint
// (cascaded --tenant); with `one_tenant` all use the default one.
Status fairness(const FairnessOptions& options);

// Running decodes beside the prefill of a long prompt, and a cancelled one.
//
// What is measured of decodes is the gap between two Deltas of a stream, as a reader sees it: a
// Delta holds all tokens of a burst of steps, and the protocol does not say how many. Its mean
// number of tokens is taken from the daemon's counter of generated tokens, and given beside it.
Status interference(const InterferenceOptions& options);

// What outlives the daemon: a long prompt after a kill -9, K and V read from its files, and what
// writing them costs running decodes. Error: kInternal if an answer differs, after the report.
Status restore(const RestoreOptions& options);

// Many chunks: how long a start takes after a kill -9, a page of the list, a search, a look-up,
// beside a hundredth of them.
Status registry(const RegistryOptions& options);

// What a request takes beyond the engine's own time (Final's total_us), over ZeroMQ and over HTTP.
Status gateway(const GatewayOptions& options);

// How long a steady client waits, alone and beside HTTP connections that are slow in four ways
// (SlowCrowd).
Status slow_clients(const SlowClientsOptions& options);

// Two tenants: whether one's time to the first token tells what the other has sent, and how much
// faster its own prompts are when they come again.
Status isolation(const IsolationOptions& options);

}  // namespace cascade::serve
