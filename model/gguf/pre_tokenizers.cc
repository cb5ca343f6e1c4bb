// The table of tokenizer.ggml.pre. A name that is not here is refused.
#include "model/gguf/pre_tokenizers.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/gguf/pre_tokenizer_families.h"
#include "model/json_fields.h"

namespace cascade {
namespace {

using Family = PreTokenizerFamily;

enum Property : unsigned {
  kIgnoresMerges = 1,  // looks whole words up first, as tiktoken does
  kAddsBegin = 2,
  kComposes = 4,  // applies NFC first, as the models' own tokenizers do
};

struct NamedFamily {
  std::string_view name;
  Family family;
  unsigned properties = 0;

  bool has(Property property) const { return (properties & property) != 0; }
};

constexpr std::array<NamedFamily, 84> kTable = {{
    {"gpt-2", Family::kGpt2},
    {"phi-2", Family::kGpt2},
    {"mpt", Family::kGpt2},
    {"olmo", Family::kGpt2},
    {"jais", Family::kGpt2},
    {"trillion", Family::kGpt2},
    {"granite-docling", Family::kGpt2},
    {"gigachat", Family::kGpt2},
    {"a.x-4.0", Family::kGpt2},
    {"mellum", Family::kGpt2},
    {"modern-bert", Family::kGpt2},
    {"exaone4", Family::kGpt2},
    {"jina-v1-en", Family::kGpt2},
    {"jina-v2-code", Family::kGpt2},
    {"jina-v2-es", Family::kGpt2},
    {"jina-v2-de", Family::kGpt2},
    {"jina-es", Family::kGpt2},
    {"jina-de", Family::kGpt2},
    {"roberta-bpe", Family::kGpt2},
    {"starcoder", Family::kDigitsGpt2},
    {"refact", Family::kDigitsGpt2},
    {"command-r", Family::kDigitsGpt2},
    {"smollm", Family::kDigitsGpt2},
    {"codeshell", Family::kDigitsGpt2},
    {"exaone", Family::kDigitsGpt2},
    {"minerva-7b", Family::kDigitsGpt2},
    {"mellum2", Family::kDigitsGpt2},
    {"llama3", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"llama-v3", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"llama-bpe", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"falcon3", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"falcon-h1", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"pixtral", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"midm-2.0", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"lfm2", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"jina-v5-nano", Family::kLlama3, kIgnoresMerges | kAddsBegin},
    {"dbrx", Family::kLlama3},
    {"smaug-bpe", Family::kLlama3},
    {"glm4", Family::kLlama3},
    {"chatglm-bpe", Family::kLlama3},
    {"jais-2", Family::kJais2},
    {"minicpm5", Family::kMiniCpm5, kIgnoresMerges},
    {"qwen2", Family::kQwen2, kComposes},
    {"deepseek-r1-qwen", Family::kQwen2},
    {"stablelm2", Family::kQwen2},
    {"megrez", Family::kQwen2},
    {"kormo", Family::kQwen2},
    {"f2llmv2", Family::kQwen2},
    {"solar-open", Family::kQwen2},
    {"grok-2", Family::kQwen2},
    {"bailingmoe", Family::kQwen2},
    {"bailingmoe2", Family::kQwen2},
    {"llada-moe", Family::kQwen2},
    {"hunyuan", Family::kQwen2, kIgnoresMerges | kComposes},
    {"qwen35", Family::kQwen35, kComposes},
    {"ufakzeka", Family::kUfakZeka},
    {"seed-coder", Family::kSeedCoder},
    {"exaone-moe", Family::kExaoneMoe},
    {"laguna", Family::kLaguna},
    {"tekken", Family::kTekken, kIgnoresMerges | kAddsBegin},
    {"gpt-4o", Family::kGpt4o},
    {"llama4", Family::kGpt4o},
    {"kanana2", Family::kGpt4o},
    {"talkie", Family::kGpt4o},
    {"minimax-m2", Family::kGpt4o},
    {"granite-embed-multi-97m", Family::kGpt4o, kIgnoresMerges},
    {"tiny_aya", Family::kAya},
    {"cohere2moe", Family::kAya},
    {"youtu", Family::kYoutu, kIgnoresMerges},
    {"kimi-k2", Family::kKimiK2, kIgnoresMerges},
    {"deepseek-llm", Family::kDeepSeekLlm},
    {"deepseek-coder", Family::kDeepSeekCoder},
    {"deepseek-v3", Family::kDeepSeekV3},
    {"hunyuan-dense", Family::kDeepSeekV3},
    {"joyai-llm", Family::kDeepSeekV3},
    {"afmoe", Family::kAfMoe},
    {"bloom", Family::kBloom},
    {"poro-chat", Family::kBloom},
    {"gpt3-finnish", Family::kBloom},
    {"viking", Family::kViking},
    {"superbpe", Family::kSuperBpe},
    {"chameleon", Family::kChameleon, kAddsBegin},
    {"falcon", Family::kFalcon},
    // For files of BPE models that a converter did not know; llama.cpp reads them so.
    {"default", Family::kDefault},
}};

}  // namespace

std::vector<std::string_view> gguf_pre_tokenizer_names() {
  std::vector<std::string_view> names;
  for (const NamedFamily& named : kTable) names.push_back(named.name);
  return names;
}

Result<GgufPreTokenizer> gguf_pre_tokenizer(std::string_view name) {
  const auto* found = std::ranges::find(kTable, name, &NamedFamily::name);
  if (found == kTable.end()) {
    return unsupported("tokenizer.ggml.pre", quote_text(name) + " is not known");
  }
  Json steps = Json::array();
  for (const std::string& expression : pre_tokenizer_expressions(found->family)) {
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", expression}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", false},
                   {"use_regex", false}});
  GgufPreTokenizer result;
  result.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
  if (found->has(kComposes)) result.normalizer = {{"type", "NFC"}};
  result.ignores_merges = found->has(kIgnoresMerges);
  result.adds_begin_token = found->has(kAddsBegin);
  return result;
}

}  // namespace cascade
