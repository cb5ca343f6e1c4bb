// What all commands need first: kernels, threads, and a report that says what machine this is.
#pragma once

#include <memory>

#include "bench/speed/commands.h"
#include "bench/speed/peak.h"
#include "bench/speed/report.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"

namespace cascade::speed {

struct Setup {
  const Kernels* kernels;
  std::unique_ptr<ThreadPool> pool;
};
// Errors: kInvalidArgument, field "--isa"; kResourceExhausted, field "--threads", if there is not
// enough memory to measure the bandwidth of all threads; those of kernels_for.
Result<Setup> set_up(const CommonOptions& options);

// The command, the CPU, the instruction set and the number of threads.
OrderedJson header(const std::string& command, const Setup& setup);
// Measures the peak now and adds it to `header`.
void add_peak(OrderedJson& header, const Setup& setup);

// Prints to standard output. Errors: those of io_error, if it cannot be written.
Status print(const Report& report, const CommonOptions& options);

// Errors: kInvalidArgument, field `option`.
Result<WeightType> weight_type_of(const std::string& name, const std::string& option,
                                  bool or_auto = false);
Result<KvType> kv_type_of(const std::string& name, const std::string& option);

}  // namespace cascade::speed
