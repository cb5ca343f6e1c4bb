// Reads the member "decoder" of tokenizer.json.
#include "model/tokenizer/decoder_steps.h"

#include <utility>

#include "model/tokenizer/json.h"

namespace cascade {
namespace {

constexpr size_t kDecodeStepsMax = 32;  // real files have up to 4
constexpr int kDecodeNestingMax = 8;    // of Sequence in Sequence; real files have 1
constexpr size_t kDecodeLiteralBytesMax = 1024;
constexpr int64_t kStripMax = 1024;  // real files have 1
// How many times as long each token of an answer may become; this bounds the work and the memory
// that a token takes. Real files have 1: they replace U+2581 by a space.
constexpr size_t kDecodeGrowthMax = 8;

Result<ReplaceDecode> load_replace_decode(const JsonPart& part) {
  RETURN_IF_ERROR(part.only({"type", "pattern", "content"}));
  ReplaceDecode step;
  ASSIGN_OR_RETURN(step.content, part.text("content"));
  ASSIGN_OR_RETURN(const JsonPart pattern, part.child("pattern"));
  RETURN_IF_ERROR(pattern.only({"String"}));
  ASSIGN_OR_RETURN(step.pattern, pattern.text("String"));
  if (step.pattern.empty() || step.pattern.size() > kDecodeLiteralBytesMax) {
    return invalid_argument(pattern.path_of("String"),
                            "must have 1 to " + std::to_string(kDecodeLiteralBytesMax) + " bytes");
  }
  if (step.content.size() > kDecodeLiteralBytesMax) {
    return invalid_argument(part.path_of("content"),
                            "has more than " + std::to_string(kDecodeLiteralBytesMax) + " bytes");
  }
  return step;
}

Result<StripDecode> load_strip(const JsonPart& part) {
  RETURN_IF_ERROR(part.only({"type", "content", "start", "stop"}));
  StripDecode step;
  ASSIGN_OR_RETURN(step.content, part.character("content"));
  ASSIGN_OR_RETURN(const int64_t start, part.whole("start", 0, kStripMax));
  ASSIGN_OR_RETURN(const int64_t stop, part.whole("stop", 0, kStripMax));
  step.start = static_cast<size_t>(start);
  step.stop = static_cast<size_t>(stop);
  return step;
}

Result<MetaspaceDecode> load_metaspace_decode(const JsonPart& part) {
  RETURN_IF_ERROR(
      part.only({"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"}));
  MetaspaceDecode step;
  ASSIGN_OR_RETURN(step.replacement, part.character("replacement"));
  ASSIGN_OR_RETURN(const std::string scheme, part.text_or("prepend_scheme", "always"));
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    return unsupported(part.path_of("prepend_scheme"), quote_text(scheme) + " is unknown");
  }
  step.drops_first = scheme != "never";
  ASSIGN_OR_RETURN(const bool adds_prefix_space, part.flag_or("add_prefix_space", true));
  if (!adds_prefix_space && step.drops_first) {
    return invalid_argument(part.path_of("add_prefix_space"), "contradicts prepend_scheme");
  }
  return step;
}

Status load_steps(const JsonPart& part, int nesting, std::vector<DecodeStep>& steps) {
  ASSIGN_OR_RETURN(const std::string type, part.text("type"));
  if (steps.size() >= kDecodeStepsMax || nesting > kDecodeNestingMax) {
    return invalid_argument(part.path(), "has more than " + std::to_string(kDecodeStepsMax) +
                                             " steps, or more than " +
                                             std::to_string(kDecodeNestingMax) + " levels");
  }
  if (type == "Sequence") {
    RETURN_IF_ERROR(part.only({"type", "decoders"}));
    ASSIGN_OR_RETURN(const Json* members, part.array("decoders"));
    for (size_t i = 0; i < members->size(); ++i) {
      ASSIGN_OR_RETURN(const JsonPart member,
                       JsonPart::of((*members)[i], json_path(part.path_of("decoders"), i)));
      RETURN_IF_ERROR(load_steps(member, nesting + 1, steps));
    }
  } else if (type == "ByteLevel") {
    RETURN_IF_ERROR(part.only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    steps.emplace_back(ByteLevelDecode{});
  } else if (type == "ByteFallback" || type == "Fuse") {
    RETURN_IF_ERROR(part.only({"type"}));
    steps.push_back(type == "Fuse" ? DecodeStep(FuseDecode{}) : DecodeStep(ByteFallbackDecode{}));
  } else if (type == "Replace") {
    ASSIGN_OR_RETURN(ReplaceDecode step, load_replace_decode(part));
    steps.emplace_back(std::move(step));
  } else if (type == "Strip") {
    ASSIGN_OR_RETURN(StripDecode step, load_strip(part));
    steps.emplace_back(std::move(step));
  } else if (type == "Metaspace") {
    ASSIGN_OR_RETURN(MetaspaceDecode step, load_metaspace_decode(part));
    steps.emplace_back(std::move(step));
  } else {
    return unsupported(part.path_of("type"), quote_text(type) + " is not implemented");
  }
  return {};
}

// Only Replace makes a text longer in each step. The text that ByteLevel and ByteFallback write for
// malformed bytes, and the spaces between tokens, come only once.
Status check_growth(const std::vector<DecodeStep>& steps, const std::string& path) {
  size_t growth = 1;
  for (const DecodeStep& step : steps) {
    const auto* replace = std::get_if<ReplaceDecode>(&step);
    if (replace == nullptr || replace->content.size() <= replace->pattern.size()) continue;
    growth *= (replace->content.size() + replace->pattern.size() - 1) / replace->pattern.size();
    if (growth > kDecodeGrowthMax) {
      return invalid_argument(path, "has Replace steps that can make a text " +
                                        std::to_string(growth) + " times as long; the limit is " +
                                        std::to_string(kDecodeGrowthMax) + " times");
    }
  }
  return {};
}

}  // namespace

Result<std::vector<DecodeStep>> load_decode_steps(const Json* json, const std::string& path) {
  std::vector<DecodeStep> steps;
  if (json == nullptr) {
    steps.emplace_back(SpaceDecode{});
    return steps;
  }
  ASSIGN_OR_RETURN(const JsonPart part, JsonPart::of(*json, path));
  RETURN_IF_ERROR(load_steps(part, 0, steps));
  RETURN_IF_ERROR(check_growth(steps, path));
  return steps;
}

}  // namespace cascade
