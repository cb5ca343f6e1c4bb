// Turns metadata into the keys that generation_config.json has for the same things.
#include "model/gguf/generation_config.h"

#include <algorithm>
#include <array>
#include <climits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cascade {
namespace {

// Control tokens that end a turn or a text.
constexpr std::array<std::string_view, 7> kEndTexts = {
    "<|im_end|>", "<|endoftext|>",   "<|eot_id|>",   "<|eom_id|>",
    "<|end|>",    "<|end_of_text|>", "<end_of_turn>"};
// Gemma 4's, which may have any type. A model that calls a tool ends with the last one.
constexpr std::array<std::string_view, 3> kGemma4EndTexts = {"<eos>", "<turn|>",
                                                             "<|tool_response>"};
constexpr int32_t kControlType = 3;

Result<Json> end_tokens(const GgufMetadata& metadata) {
  std::set<int64_t> ids;
  Json ordered = Json::array();
  const auto add = [&](int64_t id) {
    if (ids.insert(id).second) ordered.push_back(id);
  };
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    ASSIGN_OR_RETURN(const auto id, metadata.whole(key, 0, INT32_MAX));
    if (id) add(*id);
  }
  ASSIGN_OR_RETURN(const auto* tokens, metadata.strings("tokenizer.ggml.tokens"));
  ASSIGN_OR_RETURN(const auto types, metadata.wholes("tokenizer.ggml.token_type"));
  if (tokens == nullptr) return ordered;
  ASSIGN_OR_RETURN(const auto model, metadata.text("tokenizer.ggml.model"));
  const bool is_gemma4 = model == "gemma4";
  for (size_t id = 0; id < std::min(tokens->size(), types.size()); ++id) {
    const bool is_end =
        is_gemma4 ? std::ranges::count(kGemma4EndTexts, (*tokens)[id]) != 0
                  : types[id] == kControlType && std::ranges::count(kEndTexts, (*tokens)[id]) != 0;
    if (is_end && ordered.size() < kEndTexts.size()) add(static_cast<int64_t>(id));
  }
  return ordered;
}

// Removes the names of files that a GGUF file stands for.
void remove_file_names(std::string& text) {
  for (const std::string_view file : {" (in config.json)", " (in generation_config.json)"}) {
    const size_t at = text.find(file);
    if (at != std::string::npos) text.erase(at, file.size());
  }
}

// Turns an error about a key of generation_config.json into one about the metadata.
Error in_terms_of_metadata(Error error) {
  remove_file_names(error.message);
  if (error.field == "eos_token_id" || error.field == "bos_token_id") {
    error.field = "tokenizer.ggml." + error.field;
  }
  return error;
}

}  // namespace

Result<GenerationConfig> gguf_generation_config(const GgufFiles& files, int vocab_size) {
  const GgufMetadata& metadata = files.metadata();
  Json generation = Json::object();
  ASSIGN_OR_RETURN(generation["eos_token_id"], end_tokens(metadata));
  ASSIGN_OR_RETURN(const auto begin, metadata.whole("tokenizer.ggml.bos_token_id", 0, INT32_MAX));
  if (begin) generation["bos_token_id"] = *begin;
  for (const auto& [name, config_key] :
       {std::pair("temp", "temperature"), std::pair("top_p", "top_p"), std::pair("min_p", "min_p"),
        std::pair("penalty_repeat", "repetition_penalty")}) {
    ASSIGN_OR_RETURN(const auto value, metadata.number(std::string("general.sampling.") + name));
    if (value) generation[config_key] = *value;
    if (value && std::string_view(name) == "temp") generation["do_sample"] = *value > 0;
  }
  ASSIGN_OR_RETURN(const auto top_k, metadata.whole("general.sampling.top_k", 0, vocab_size));
  if (top_k) generation["top_k"] = *top_k;
  Result<GenerationConfig> parsed = parse_generation_config(generation, Json(), vocab_size);
  if (!parsed.ok()) return in_terms_of_metadata(std::move(parsed).error());
  for (std::string& problem : parsed->problems) remove_file_names(problem);
  return parsed;
}

}  // namespace cascade
