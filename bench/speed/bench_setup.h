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
// Errors: kInvalidArgument, field "--isa"; kResourceExhausted, field "--threads", where there is no
// memory to measure so many threads' bandwidth; as kernels_for.
Result<Setup> set_up(const CommonOptions& options);

// Command, CPU, instruction set, threads.
OrderedJson header(const std::string& command, const Setup& setup);
// Adds the peak, measured now.
void add_peak(OrderedJson& header, const Setup& setup);

// Prints to standard output. Errors: as io_error, if it cannot be written.
Status print(const Report& report, const CommonOptions& options);

// Errors: kInvalidArgument, field `option`.
Result<WeightType> weight_type_of(const std::string& name, const std::string& option);
Result<KvType> kv_type_of(const std::string& name, const std::string& option);

}  // namespace cascade::speed
