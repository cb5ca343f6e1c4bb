// estimate: the memory that a model will need, from its configuration and its files' tables.
#include <charconv>
#include <limits>

#include "bench/eval/commands.h"
#include "bench/eval/json_lines.h"
#include "model/memory_estimate.h"
#include "model/model.h"

namespace cascade::eval {
namespace {

// A number beyond 64 bits counts as the largest: the model's context is the limit of both.
Result<int64_t> number_of_tokens(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (stop != end || problem == std::errc::invalid_argument) {
    return invalid_argument("--tokens", "must be whole numbers, got \"" + text + '"');
  }
  const bool too_large = problem == std::errc::result_out_of_range && text.front() != '-';
  return too_large ? std::numeric_limits<int64_t>::max() : number;
}

}  // namespace

Status estimate(const EstimateOptions& options) {
  ASSIGN_OR_RETURN(const ModelOptions model, model_options_of(options.session));
  MemoryDemand demand = {.weight_type = model.weight_type,
                         .kv_type = model.kv_type,
                         .threads = thread_count(options.session),
                         .sequences = options.sequences};
  std::vector<int64_t> lengths;
  for (const std::string& text : options.tokens) {
    ASSIGN_OR_RETURN(lengths.emplace_back(), number_of_tokens(text));
  }
  ASSIGN_OR_RETURN(const ModelConfig config, load_model_config(options.session.model_dir));
  ASSIGN_OR_RETURN(const Kernels* kernels, kernels_for(model.isa));
  ASSIGN_OR_RETURN(const TensorFiles files, open_model_tensors(options.session.model_dir));
  ASSIGN_OR_RETURN(const size_t weights_bytes,
                   packed_weights_bytes(files, config, model.weight_type, *kernels));
  std::vector<MemoryEstimate> estimates;
  for (const int64_t tokens : lengths) {
    demand.tokens = tokens;
    auto needed = estimate_memory(config, weights_bytes, demand);
    if (!needed.ok()) {
      const Error& error = needed.error();
      return Error{error.code, "--" + error.field, error.message};
    }
    estimates.push_back(*needed);
  }
  for (size_t i = 0; i < estimates.size(); ++i) {
    const MemoryEstimate& needed = estimates[i];
    RETURN_IF_ERROR(write_line({{"weights", to_string(model.weight_type)},
                                {"kv", to_string(model.kv_type)},
                                {"threads", demand.threads},
                                {"tokens", lengths[i]},
                                {"sequences", demand.sequences},
                                {"pages", needed.pages},
                                {"page_bytes", needed.page_bytes},
                                {"weights_bytes", needed.weights_bytes},
                                {"kv_bytes", needed.kv_bytes},
                                {"activation_bytes", needed.activation_bytes},
                                {"total_bytes", needed.total_bytes}}));
  }
  return {};
}

}  // namespace cascade::eval
