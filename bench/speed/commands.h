// The commands of cascade-bench. Each measures, prints its report to standard output and returns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::speed {

// Lists are split at commas, but otherwise as on the command line.
struct CommonOptions {
  std::string isa;  // empty: the best
  int threads = 0;  // 0: all cores
  int repeats = 5;
  bool json = false;
};

struct KernelOptions {
  CommonOptions common;
  std::vector<std::string> types;  // of weights (gemm, which also takes q8_0 and q4_0) or of KV
                                   // (attention)
  std::vector<int64_t> rows;       // rows of a product (gemm) or query tokens (attention)
  std::vector<int64_t> depths;     // attention: keys
  int query_heads = 16;
  int kv_heads = 8;
  int head_dim = 128;
  bool libraries = false;  // compare with OpenBLAS and oneDNN
};

// The most sequences that `decode` computes together: rows of one pass through the decoder.
inline constexpr int64_t kBatchMax = 512;

struct ModelBenchOptions {
  CommonOptions common;
  std::string model_dir;
  std::string weights = "int8";
  std::string kv = "int8";
  std::string state_dir;         // empty: weights are packed again
  std::vector<int64_t> tokens;   // prefill: lengths; empty: the usual ones
  std::vector<int64_t> batches;  // decode
  int64_t depth = 0;             // prefill: the number of tokens before the measured ones
  std::vector<int64_t> depths;   // decode: as `depth`, several; empty: the usual ones
  std::vector<std::string> attention = {"dense"};
  int64_t shared_prefix = 0;  // decode: also with this many common tokens; 0: not
  // The memory of K and V of one sequence: what it has more is read from a file. 0: all that it
  // needs.
  int64_t kv_memory = 0;
  std::string spill_dir = "/tmp";  // the folder of that file
};

struct GrammarBenchOptions {
  CommonOptions common;
  std::string model_dir;     // the model whose tokens are used; empty: made-up tokens
  int64_t tokens = 152'000;  // the number of made-up tokens: as many as Qwen3 has
};

// Read bandwidth, and the f32 and int8 peaks, on 1..N threads.
Status peak(const CommonOptions& options);
// One matrix product for each type and each shape of a Qwen3-0.6B layer. Errors: kInvalidArgument.
Status gemm(const KernelOptions& options);
// One layer's attention. Errors: kInvalidArgument; kResourceExhausted, field = option.
Status attention(const KernelOptions& options);
// Errors of both: those of load_model; kInvalidArgument, field = option; kResourceExhausted, field
// = option, if the pages do not fit the machine's memory.
Status prefill(const ModelBenchOptions& options);
Status decode(const ModelBenchOptions& options);
// The tokens that a JSON schema allows at several places of a document. Errors: those of
// load_model_text; kUnsupported, field = option.
Status grammar(const GrammarBenchOptions& options);

}  // namespace cascade::speed
