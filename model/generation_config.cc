// Reads generation_config.json, and the keys that config.json has instead.
#include <algorithm>
#include <climits>

#include "model/config.h"
#include "model/config_error.h"
#include "model/json_fields.h"

namespace cascade {
namespace {

constexpr std::string_view kModelConfigFile = "config.json";
constexpr std::string_view kGenerationFile = "generation_config.json";

constexpr size_t kEndTokensMax = 64;
constexpr int kTopKDefault = 50;
constexpr double kTemperatureMax = 100;
constexpr double kRepetitionPenaltyMax = 100;

// A number, a list of numbers, or null (no end token). Tokens that do not exist go to `unknown`.
Result<std::vector<int32_t>> read_end_tokens(const Json& source, int vocab_size,
                                             std::vector<int32_t>& unknown) {
  constexpr std::string_view kKey = "eos_token_id";
  std::vector<int32_t> tokens;
  const Json* value = find_field(source, kKey);
  if (value == nullptr) return tokens;
  const size_t count = value->is_array() ? value->size() : 1;
  if (count > kEndTokensMax) {
    return invalid_argument(std::string(kKey), "must have at most " +
                                                   std::to_string(kEndTokensMax) +
                                                   " entries, got " + std::to_string(count));
  }
  for (size_t i = 0; i < count; ++i) {
    const Json holder = {{kKey, value->is_array() ? (*value)[i] : *value}};
    ASSIGN_OR_RETURN(const int64_t token, required_int(holder, kKey, 0, INT32_MAX));
    (token < vocab_size ? tokens : unknown).push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

// Each key is taken from generation_config.json if that has it, else from config.json.
Status read_tokens(const Json& generation, const Json& config, int vocab_size,
                   GenerationConfig& out) {
  const auto file_of = [&](std::string_view key) {
    return find_field(generation, key) != nullptr ? kGenerationFile : kModelConfigFile;
  };
  const auto source = [&](std::string_view key) -> const Json& {
    return file_of(key) == kGenerationFile ? generation : config;
  };
  std::vector<int32_t> unknown;
  Result<std::vector<int32_t>> end_tokens =
      read_end_tokens(source("eos_token_id"), vocab_size, unknown);
  if (!end_tokens.ok()) return in_file(std::move(end_tokens).error(), file_of("eos_token_id"));
  out.end_tokens = std::move(end_tokens).value();
  for (const int32_t token : unknown) {
    out.problems.push_back("eos_token_id " + std::to_string(token) + " (in " +
                           std::string(file_of("eos_token_id")) + ") is beyond the vocabulary of " +
                           std::to_string(vocab_size) + " tokens: it ends no generation");
  }
  const Json& begin_source = source("bos_token_id");
  if (find_field(begin_source, "bos_token_id") == nullptr) return {};
  Result<int64_t> begin = required_int(begin_source, "bos_token_id", 0, vocab_size - 1);
  if (!begin.ok()) return in_file(std::move(begin).error(), file_of("bos_token_id"));
  out.begin_token = static_cast<int32_t>(*begin);
  return {};
}

Status read_sampling(const Json& generation, int vocab_size, GenerationConfig& out) {
  ASSIGN_OR_RETURN(out.do_sample, optional_bool(generation, "do_sample", false));
  ASSIGN_OR_RETURN(out.temperature,
                   optional_number(generation, "temperature", 0, kTemperatureMax, 1));
  ASSIGN_OR_RETURN(const std::optional<double> top_p, number_above(generation, "top_p", 0, 1));
  out.top_p = top_p.value_or(1);
  ASSIGN_OR_RETURN(const int64_t top_k, optional_int(generation, "top_k", 0, vocab_size,
                                                     std::min(kTopKDefault, vocab_size)));
  out.top_k = static_cast<int>(top_k);
  ASSIGN_OR_RETURN(out.min_p, optional_number(generation, "min_p", 0, 1, 0));
  ASSIGN_OR_RETURN(const std::optional<double> penalty,
                   number_above(generation, "repetition_penalty", 0, kRepetitionPenaltyMax));
  out.repetition_penalty = penalty.value_or(1);
  return {};
}

}  // namespace

Result<GenerationConfig> parse_generation_config(const Json& generation, const Json& config,
                                                 int vocab_size) {
  if (!generation.is_null() && !generation.is_object()) {
    return invalid_argument(std::string(kGenerationFile), "must be a JSON object");
  }
  GenerationConfig out;
  RETURN_IF_ERROR(read_tokens(generation, config, vocab_size, out));
  const Status sampling = read_sampling(generation, vocab_size, out);
  if (!sampling.ok()) return in_file(sampling.error(), kGenerationFile);
  return out;
}

}  // namespace cascade
