// cascade-bench: how fast this machine runs a model, how far that is from the machine's peak, and
// how the daemon serves.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/number_types.h"
#include "bench/cache/commands.h"
#include "bench/command_line.h"
#include "bench/serve/command_line.h"
#include "bench/speed/commands.h"

namespace cascade::speed {
namespace {

// Longer lengths are typing errors: the longest contexts have some ten million tokens.
constexpr int64_t kTokensMax = int64_t{1} << 24;
constexpr int64_t kRepeatsMax = 1000;

void add_common(CLI::App* command, CommonOptions& options) {
  command->add_option("--isa", options.isa,
                      "scalar, avx2, avx512, avx512vnni, neon or openblas (default: best)");
  command->add_option("--threads", options.threads, "threads (default: all cores)")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--repeats", options.repeats,
                   "how many runs each measurement has; the median is printed")
      ->check(CLI::Range(int64_t{1}, kRepeatsMax))
      ->capture_default_str();
  command->add_flag("--json", options.json, "print JSON instead of a table");
}

template <class T>
CLI::Option* add_list(CLI::App* command, const char* name, std::vector<T>& list,
                      const std::string& what) {
  return command->add_option(name, list, what)->delimiter(',')->capture_default_str();
}

struct AllOptions {
  CommonOptions peak;
  KernelOptions gemm, attention;
  ModelBenchOptions prefill, decode;
  GrammarBenchOptions grammar;
  CacheOptions cache;
};

void add_kernel_commands(CLI::App& app, AllOptions& all, Status& status) {
  auto* peak_command = app.add_subcommand("peak", "read bandwidth, f32 and int8 peak");
  add_common(peak_command, all.peak);
  peak_command->callback([&] { status = peak(all.peak); });

  auto* gemm_command = app.add_subcommand("gemm", "matrix products of a Qwen3-0.6B layer, alone");
  add_common(gemm_command, all.gemm.common);
  all.gemm.types = {"f32", "bf16", "int8", "int4"};
  add_list(gemm_command, "--weights", all.gemm.types,
           std::string(kWeightTypeNames) +
               "; q8_0, q4_0: int8, int4 with the scales of a GGUF file's blocks");
  all.gemm.rows = {1, 8, 512};
  add_list(gemm_command, "-m,--rows", all.gemm.rows, "input rows")
      ->check(CLI::Range(int64_t{1}, int64_t{512}));
  gemm_command->add_flag("--libraries", all.gemm.libraries,
                         "compare with OpenBLAS and oneDNN, if this build has them");
  gemm_command->callback([&] { status = gemm(all.gemm); });

  auto* attention_command = app.add_subcommand("attention", "one layer's attention, alone");
  add_common(attention_command, all.attention.common);
  all.attention.types = {"int8"};
  add_list(attention_command, "--kv", all.attention.types, "f32, bf16, fp16, fp8, int8");
  all.attention.depths = {512, 4096, 16384};
  add_list(attention_command, "--depth", all.attention.depths, "keys")
      ->check(CLI::Range(int64_t{1}, kTokensMax));
  all.attention.rows = {1, 512};
  add_list(attention_command, "--tokens", all.attention.rows,
           "how many tokens attend to the keys: the last ones")
      ->check(CLI::Range(int64_t{1}, int64_t{512}));
  attention_command->add_option("--query-heads", all.attention.query_heads)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  attention_command->add_option("--kv-heads", all.attention.kv_heads)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  attention_command->add_option("--head-dim", all.attention.head_dim)
      ->check(CLI::IsMember({32, 64, 96, 128, 256, 512}))
      ->capture_default_str();
  attention_command->callback([&] { status = attention(all.attention); });
}

void add_model_options(CLI::App* command, ModelBenchOptions& options) {
  add_common(command, options.common);
  command->add_option("--model", options.model_dir, "folder of the model")
      ->check(bench::not_empty())
      ->required();
  command
      ->add_option("--weights", options.weights,
                   "auto (as in the model's files), " + std::string(kWeightTypeNames))
      ->capture_default_str();
  command->add_option("--kv", options.kv, "f32, bf16, fp16, fp8 or int8")->capture_default_str();
  command->add_option("--state-dir", options.state_dir,
                      "where packed weights are kept (default: nowhere)");
  add_list(command, "--attention", options.attention,
           "attention modes: dense, window:W:S, select:B:D");
  bench::add_spill_options(command, options.kv_memory, options.spill_dir);
}

void add_model_commands(CLI::App& app, AllOptions& all, Status& status) {
  auto* prefill_command = app.add_subcommand("prefill", "prompts of several lengths");
  add_model_options(prefill_command, all.prefill);
  prefill_command
      ->add_option("-n,--tokens", all.prefill.tokens,
                   "lengths (default: 512,2048,8192, up to the model's context)")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, kTokensMax));
  prefill_command
      ->add_option("--depth", all.prefill.depth, "how many tokens are in the KV cache already")
      ->check(CLI::Range(int64_t{0}, kTokensMax))
      ->capture_default_str();
  prefill_command->callback([&] { status = prefill(all.prefill); });

  auto* decode_command = app.add_subcommand("decode", "one token at a time, several sequences");
  add_model_options(decode_command, all.decode);
  all.decode.batches = {1, 2, 4, 8, 16};
  add_list(decode_command, "--batch", all.decode.batches, "sequences together")
      ->check(CLI::Range(int64_t{1}, kBatchMax));
  decode_command
      ->add_option("--depth", all.decode.depths,
                   "how many tokens come before (default: 0,4096,16384, up to the model's "
                   "context)")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{0}, kTokensMax));
  decode_command
      ->add_option("--shared-prefix", all.decode.shared_prefix,
                   "also measure sequences with this many first tokens in common")
      ->check(CLI::Range(int64_t{0}, kTokensMax));
  decode_command->callback([&] { status = decode(all.decode); });

  auto* grammar_command = app.add_subcommand("grammar", "the tokens that a JSON schema allows");
  add_common(grammar_command, all.grammar.common);
  grammar_command->add_option("--model", all.grammar.model_dir,
                              "folder of the model whose tokens they are (default: made-up ones)");
  grammar_command->add_option("--tokens", all.grammar.tokens, "made-up tokens")
      ->check(CLI::Range(int64_t{256}, int64_t{1'000'000}))
      ->capture_default_str();
  grammar_command->callback([&] { status = grammar(all.grammar); });
}

void add_cache_command(CLI::App& app, CacheOptions& options, Status& status) {
  auto* command = app.add_subcommand("cache", "what eviction policies save on traces of requests");
  add_list(command, "--trace", options.traces, "files of requests, JSON lines with hash_ids")
      ->required();
  options.policies = {"lru", "lfu", "priority", "hybrid", "adaptive"};
  add_list(command, "--policy", options.policies, "lru, lfu, priority, hybrid, adaptive");
  options.capacities = {"1%", "2%", "5%", "10%", "20%"};
  add_list(command, "--capacity", options.capacities,
           "pages of the cache, or percent of the trace's different pages");
  command->add_flag("--json", options.json, "print JSON instead of a table");
  command->callback([&] { status = cache(options); });
}

int run(int argc, char** argv) {
  CLI::App app(
      "Measures how fast kernels, models and the service are, compared with what this machine "
      "can do.",
      "cascade-bench");
  app.footer("Exit codes: 0 done; 1 failed; 2 the command line is wrong.");
  app.require_subcommand(1);
  AllOptions all;
  Status status;
  add_kernel_commands(app, all, status);
  add_model_commands(app, all, status);
  add_cache_command(app, all.cache, status);
  const auto serve_options = serve::add_commands(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return bench::explain(app, error);
  }
  return bench::finish(app, status);
}

}  // namespace
}  // namespace cascade::speed

int main(int argc, char** argv) {
  // Ignores the signal, so that writing beyond a limit of file sizes is an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return cascade::speed::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cascade-bench: %s\n", error.what());
    return 1;
  }
}
