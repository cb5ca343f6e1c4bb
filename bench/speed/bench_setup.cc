// Turns names into kernels, threads and types.
#include "bench/speed/bench_setup.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <thread>

#include "bench/speed/machine.h"

namespace cascade::speed {

Result<Setup> set_up(const CommonOptions& options) {
  const auto isa = options.isa.empty() ? best_isa() : isa_from_string(options.isa);
  if (!isa) {
    return invalid_argument("--isa", "must be scalar, avx2, avx512, avx512vnni, neon or openblas");
  }
  ASSIGN_OR_RETURN(const Kernels* kernels, kernels_for(*isa));
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  RETURN_IF_ERROR(fits_memory(static_cast<double>(kPeakReadBytes) * threads, "--threads",
                              "what " + std::to_string(threads) + " threads read at once"));
  return Setup{kernels, std::make_unique<ThreadPool>(threads)};
}

OrderedJson header(const std::string& command, const Setup& setup) {
  OrderedJson header;
  header["command"] = command;
  header["cpu"] = cpu_name();
  header["isa"] = std::string(to_string(setup.kernels->isa));
  header["threads"] = setup.pool->threads();
  return header;
}

void add_peak(OrderedJson& header, const Setup& setup) {
  const Peak peak = measure_peak(*setup.pool, setup.kernels->isa);
  header["peak_read_gb_per_s"] = peak.read_bytes_per_s / 1e9;
  header["peak_f32_gflop_per_s"] = peak.f32_flop_per_s / 1e9;
  header["peak_int8_gop_per_s"] = peak.int8_op_per_s / 1e9;
}

Status print(const Report& report, const CommonOptions& options) {
  const std::string text = options.json ? report.to_json() : report.to_table();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return io_error("standard output", errno);
  }
  return {};
}

Result<WeightType> weight_type_of(const std::string& name, const std::string& option,
                                  bool or_auto) {
  const auto type = weight_type_from_string(name);
  if (type) return *type;
  return invalid_argument(option, std::string("must be ") + (or_auto ? "auto, " : "") +
                                      std::string(kWeightTypeNames) + ", got \"" + name + '"');
}

Result<KvType> kv_type_of(const std::string& name, const std::string& option) {
  const auto type = kv_type_from_string(name);
  if (!type) {
    return invalid_argument(option, "must be f32, bf16, fp16, fp8 or int8, got \"" + name + '"');
  }
  return *type;
}

}  // namespace cascade::speed
