// The command line of cascaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/number_types.h"
#include "base/result.h"
#include "kernels/kernels.h"

namespace cascade {

struct DaemonOptions {
  std::string model_dir;
  // Holds what the next start can use; created with mode 0700. Empty: nothing is kept.
  std::string state_dir;
  std::string run_dir;   // holds the socket and the lock; created with mode 0700
  std::string endpoint;  // "ipc://<run_dir>/cascaded.sock" unless given
  WeightType weight_type = WeightType::kBf16;
  KvType kv_type = KvType::kInt8;
  Isa isa = Isa::kScalar;
  int threads = 1;
  int64_t kv_bytes_max = 0;
  int32_t requests_waiting_max = 64;
  int32_t requests_running_max = 16;
  int32_t max_tokens_default = 2048;
  std::string log_level = "info";
};

// Exit codes of cascaded; 0 after a signal that asked it to stop.
inline constexpr int kExitFailed = 1;  // it could not start, or not go on
inline constexpr int kExitUsage = 2;   // the command line is wrong

// Parses argv. On --help, --version or an error: prints what is to be said and returns the exit
// code (0 or 2) as `exit_code`.
struct ParsedOptions {
  DaemonOptions options;
  std::optional<int> exit_code;
};
ParsedOptions parse_options(int argc, const char* const* argv);

// "512M", "4G", "1024" (bytes; K, M, G are powers of 1,024). Errors: kInvalidArgument, field
// "--kv-memory".
Result<int64_t> parse_bytes(const std::string& text);

// Half of the machine's memory, as far as this process may use it (cgroup), at least 64 MiB.
int64_t default_kv_bytes();

}  // namespace cascade
