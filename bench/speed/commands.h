// The commands of cascade-bench. Each measures, prints its report to standard output and returns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::speed {

// Lists are as they stand on the command line, split at commas.
struct CommonOptions {
  std::string isa;  // empty: the best
  int threads = 0;  // 0: all cores
  int repeats = 5;
  bool json = false;
};

struct KernelOptions {
  CommonOptions common;
  std::vector<std::string> types;  // of weights (gemm: also q8_0, q4_0) or KV (attention)
  std::vector<int64_t> rows;       // of a product; query tokens of attention
  std::vector<int64_t> depths;     // attention: keys
  int query_heads = 16;
  int kv_heads = 8;
  int head_dim = 128;
  bool libraries = false;  // compare with OpenBLAS and oneDNN
};

struct ModelBenchOptions {
  CommonOptions common;
  std::string model_dir;
  std::string weights = "int8";
  std::string kv = "int8";
  std::string state_dir;         // empty: weights are packed anew
  std::vector<int64_t> tokens;   // prefill: lengths; empty: the usual ones
  std::vector<int64_t> batches;  // decode
  int64_t depth = 0;             // prefill: tokens that are there already
  std::vector<int64_t> depths;   // decode: the same; empty: the usual ones
  int64_t shared_prefix = 0;     // decode: also with so many tokens in common; 0: not
};

struct GrammarBenchOptions {
  CommonOptions common;
  std::string model_dir;     // whose tokens; empty: made-up ones
  int64_t tokens = 152'000;  // of these: as many as Qwen3 has
};

// Read bandwidth, f32 and int8 peak on 1..N threads.
Status peak(const CommonOptions& options);
// One matrix product of each type and shape of a Qwen3-0.6B layer. Errors: kInvalidArgument.
Status gemm(const KernelOptions& options);
// One layer's attention. Errors: kInvalidArgument; kResourceExhausted, field = option.
Status attention(const KernelOptions& options);
// Errors of both: as load_model; kInvalidArgument, field = option; kResourceExhausted, field =
// option, where the pages do not fit the machine's memory.
Status prefill(const ModelBenchOptions& options);
Status decode(const ModelBenchOptions& options);
// The tokens that a JSON schema allows, at several places of a document. Errors: as
// load_model_text; kUnsupported, field = option.
Status grammar(const GrammarBenchOptions& options);

}  // namespace cascade::speed
