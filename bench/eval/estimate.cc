// estimate: the memory that a model will need, from its configuration and its files' tables.
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/memory_limit.h"
#include "bench/eval/commands.h"
#include "bench/eval/estimate_text.h"
#include "bench/eval/json_lines.h"
#include "cache/reader_slices.h"
#include "model/memory_estimate.h"
#include "model/model.h"
#include "persist/kv_record.h"

namespace cascade::eval {
namespace {

// A number beyond 64 bits counts as the largest one: the model's context is the limit in both
// cases.
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

// Some common lengths that are below the model's context, and the model's context.
std::vector<int64_t> usual_lengths(int64_t context_tokens_max) {
  std::vector<int64_t> lengths;
  for (const int64_t tokens : {1'024, 4'096, 16'384, 65'536, 262'144}) {
    if (tokens < context_tokens_max) lengths.push_back(tokens);
  }
  lengths.push_back(context_tokens_max);
  return lengths;
}

// Writes one line for each length.
Status write_lines(const EstimateFacts& facts, const std::vector<EstimateRow>& rows) {
  for (const auto& [tokens, needed, kv_in_memory_bytes, kv_disk_bytes, memory_bytes] : rows) {
    RETURN_IF_ERROR(write_line({{"weights", facts.weights},
                                {"why", facts.why},
                                {"kv", to_string(facts.types.kv_type)},
                                {"threads", facts.types.threads},
                                {"tokens", tokens},
                                {"sequences", facts.types.sequences},
                                {"pages", needed.pages},
                                {"page_bytes", needed.page_bytes},
                                {"weights_bytes", needed.weights_bytes},
                                {"kv_bytes", needed.kv_bytes},
                                {"state_bytes", needed.state_bytes},
                                {"activation_bytes", needed.activation_bytes},
                                {"total_bytes", needed.total_bytes},
                                {"kv_in_memory_bytes", kv_in_memory_bytes},
                                {"kv_disk_bytes", kv_disk_bytes},
                                {"memory_bytes", memory_bytes},
                                {"kv_memory_bytes", facts.kv_bytes_max},
                                {"state_memory_bytes", facts.state_memory_bytes}}));
  }
  return {};
}

// Says what is in memory and what is on disk. `facts.types` is the demand.
Result<EstimateRow> row_of(const ModelConfig& config, uint64_t weights_bytes,
                           const EstimateFacts& facts) {
  ASSIGN_OR_RETURN(const MemoryEstimate fits, estimate_memory(config, weights_bytes, facts.types));
  EstimateRow row = {.tokens = facts.types.tokens, .needed = fits};
  const uint64_t pages_max = static_cast<uint64_t>(facts.kv_bytes_max) / fits.page_bytes;
  if (facts.kv_memory_is_set && pages_max == 0) {
    return invalid_argument("kv-memory", "must be at least " + std::to_string(fits.page_bytes) +
                                             " bytes, one page of this model, got " +
                                             std::to_string(facts.kv_bytes_max) + " bytes");
  }
  row.kv_in_memory_bytes = std::min(fits.pages, pages_max) * fits.page_bytes;
  row.kv_disk_bytes =
      fits.pages *
      kv_record_bytes(parts_of_layers(kv_layout(config, facts.types.kv_type).part_sizes()));
  row.memory_bytes =
      fits.weights_bytes + fits.activation_bytes + fits.state_bytes + row.kv_in_memory_bytes;
  // Sequences that fit one by one wait for each other.
  if (fits.pages / static_cast<uint64_t>(facts.types.sequences) <= pages_max) return row;
  MemoryDemand reading = facts.types;
  reading.reads = true;
  reading.rows = static_cast<int>(
      reader_slice_tokens_max(static_cast<int64_t>(pages_max), ReaderSliceLimits()));
  ASSIGN_OR_RETURN(const MemoryEstimate reads, estimate_memory(config, weights_bytes, reading));
  row.memory_bytes =
      reads.weights_bytes + reads.activation_bytes + reads.state_bytes + row.kv_in_memory_bytes;
  return row;
}

}  // namespace

Status estimate(const EstimateOptions& options) {
  ASSIGN_OR_RETURN(ModelOptions model, model_options_of(options.session));
  if (options.session.isa.empty()) model.isa = default_isa();  // as the daemon does
  std::vector<int64_t> lengths;
  for (const std::string& text : options.tokens) {
    ASSIGN_OR_RETURN(lengths.emplace_back(), number_of_tokens(text));
  }
  const std::string& path = options.session.model_dir;
  ASSIGN_OR_RETURN(const ModelConfig config, load_model_config(path, model));
  ASSIGN_OR_RETURN(const Kernels* kernels, kernels_for(model.isa));
  ASSIGN_OR_RETURN(const TensorFiles files, open_model_tensors(path));
  const WeightChoice choice = choose_weights(files, model);
  ASSIGN_OR_RETURN(const PackedWeights weights,
                   describe_model_weights(path, files, config, choice.plan, *kernels));
  const MemoryLimit memory = memory_limit();
  EstimateFacts facts = {
      .model = path,
      .types = {.weight_type = choice.plan.type,
                .some_quantized = choice.some_quantized,
                .kv_type = model.kv_type,
                .threads = thread_count(options.session),
                .sequences = options.sequences},
      .weights = describe_types(choice.plan.type, weights.types),
      .why = choice.why,
      .context_tokens_max = config.context_tokens_max,
      .kv_bytes_max =
          options.session.kv_memory > 0 ? options.session.kv_memory : default_kv_bytes(memory),
      .kv_memory_is_set = options.session.kv_memory > 0,
      .memory_bytes = memory.bytes,
      .memory_set_by = memory.set_by,
      .state_memory_bytes = config.recurrent.state_floats() > 0 ? default_state_bytes(memory) : 0};
  if (lengths.empty()) lengths = usual_lengths(config.context_tokens_max);
  std::vector<EstimateRow> rows;
  for (const int64_t tokens : lengths) {
    facts.types.tokens = tokens;
    const auto row = row_of(config, weights.bytes, facts);
    if (!row.ok()) {
      const Error& error = row.error();
      return Error{error.code, "--" + error.field, error.message};
    }
    rows.push_back(*row);
  }
  if (options.json) return write_lines(facts, rows);
  return write_text(estimate_text(facts, rows));
}

}  // namespace cascade::eval
