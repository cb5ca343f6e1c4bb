// The options of cascaded, from configuration files, environment and command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/attention_mode.h"
#include "base/chunk.h"
#include "base/context_extension.h"
#include "base/number_types.h"
#include "base/result.h"
#include "cache/eviction.h"
#include "config/configuration.h"
#include "kernels/kernels.h"

namespace cascade {

struct DaemonOptions {
  std::string model_dir;
  // The folder of further models, which are loaded when they are asked for; empty: none.
  std::string models_dir;
  // Files with chat templates that replace the models' own, by model; "": the default model.
  std::map<std::string, std::string> chat_templates;
  // RoPE scalings that replace the models' own, by model; "": the default model.
  std::map<std::string, ContextExtension> rope_scalings;
  int64_t model_bytes_max = 0;  // for all loaded models together, estimated; 0: no limit
  // The folder of everything that the next start can use; created with mode 0700. Empty: nothing is
  // kept.
  std::string state_dir;
  // The folder of the packed weights, which can be made again; created with mode 0700. Empty:
  // nothing is kept.
  std::string cache_dir;
  std::string run_dir;   // holds the socket and the lock; created with mode 0700
  std::string endpoint;  // "ipc://<run_dir>/cascaded.sock" unless given
  // Further tenants. The clients of each tenant have a socket of their own,
  // <run_dir>/tenant-NAME.sock.
  std::vector<std::string> tenants;
  // The HTTP gateway: "127.0.0.1:8178", "unix:PATH"; empty: none.
  std::string http_address;
  std::string http_keys_file;             // empty: no keys are needed
  std::vector<std::string> http_hosts;    // further host names of the gateway
  std::vector<std::string> http_origins;  // sites whose pages may use the gateway; "*": all
  std::map<std::string, std::string> http_model_aliases;  // models' names by their aliases
  // ZeroMQ over TCP: "127.0.0.1:8179"; empty: none.
  std::string tcp_address;
  std::string tcp_key_file;
  std::string tcp_clients_file;
  std::optional<WeightType> weight_type;  // nullopt: the one that suits each model's files
  KvType kv_type = KvType::kInt8;
  Isa isa = Isa::kScalar;
  int threads = 1;
  int64_t kv_bytes_max = 0;
  int64_t state_bytes_max = 0;                       // of recurrent layers, of each loaded model
  int64_t grammar_bytes_max = int64_t{64} << 20;     // of each loaded model
  int64_t disk_bytes_max = int64_t{10} << 30;        // of KV pages in state_dir
  int64_t state_disk_bytes_max = int64_t{10} << 30;  // of recurrent states in state_dir
  EvictionPolicy eviction = EvictionPolicy::kHybrid;
  ThinkPolicy think_policy = ThinkPolicy::kReprefill;
  bool heal = false;                // of requests that do not say
  std::string summary_prompt;       // empty: kSummaryPrompt
  int64_t summary_divisor = 8;      // as in SummaryOptions
  AttentionChoice attention;        // of requests that name none
  double max_pinned = 0.5;          // share of the pool's pages that pins may keep
  double chunk_memory_ratio = 0.9;  // share of the pool's pages that retained chunks may hold
  int32_t requests_waiting_max = 64;
  int64_t tokens_waiting_max = 131'072;
  int32_t requests_running_max = 16;
  int32_t stop_timeout_s = 10;
  int32_t max_tokens_default = 2048;
  std::string log_level = "info";
};

// Exit codes of cascaded; 0 after a signal that asked it to stop.
inline constexpr int kExitFailed = 1;  // cascaded could not start, or could not go on
inline constexpr int kExitUsage = 2;   // the command line or the configuration is wrong

// Reads the configuration file, the environment and argv, in rising order. On --help, --version,
// --check or errors, prints the text for the user and returns the exit code (0 or 2) as
// `exit_code`.
struct ParsedOptions {
  DaemonOptions options;
  config::Configuration configuration;
  std::string config_file;  // empty: none
  std::optional<int> exit_code;
};
ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace cascade
