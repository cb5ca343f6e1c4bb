// Reads the member "pre_tokenizer" of tokenizer.json.
#include <utility>

#include "model/tokenizer/json.h"
#include "model/tokenizer/pre_tokenizer_pipeline.h"

namespace cascade {
namespace {

constexpr size_t kStepsMax = 32;  // real files have up to 6
constexpr int kNestingMax = 8;    // of Sequence in Sequence; real files have 1
constexpr size_t kLiteralBytesMax = 1024;

Result<SplitStep> load_split(const JsonPart& part) {
  RETURN_IF_ERROR(part.only({"type", "pattern", "behavior", "invert"}));
  ASSIGN_OR_RETURN(const std::string behavior_name, part.text("behavior"));
  const auto behavior = split_behavior(behavior_name);
  if (!behavior) {
    return unsupported(part.path_of("behavior"), quote_text(behavior_name) + " is unknown");
  }
  ASSIGN_OR_RETURN(const bool is_inverted, part.flag("invert"));
  ASSIGN_OR_RETURN(const JsonPart pattern, part.child("pattern"));
  RETURN_IF_ERROR(pattern.only({"String", "Regex"}));
  if (pattern.find("Regex") == nullptr) {
    ASSIGN_OR_RETURN(std::string literal, pattern.text("String"));
    if (literal.empty() || literal.size() > kLiteralBytesMax) {
      return invalid_argument(pattern.path_of("String"),
                              "must have 1 to " + std::to_string(kLiteralBytesMax) + " bytes");
    }
    return SplitStep{std::move(literal), *behavior, is_inverted};
  }
  ASSIGN_OR_RETURN(const std::string text, pattern.text("Regex"));
  if (const auto known = known_pattern(text)) return SplitStep{*known, *behavior, is_inverted};
  ASSIGN_OR_RETURN(TokenizerRegex regex, TokenizerRegex::compile(text, pattern.path_of("Regex")));
  return SplitStep{std::move(regex), *behavior, is_inverted};
}

Result<ByteLevelStep> load_byte_level(const JsonPart& part) {
  RETURN_IF_ERROR(part.only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  ByteLevelStep step;
  ASSIGN_OR_RETURN(step.adds_prefix_space, part.flag("add_prefix_space"));
  ASSIGN_OR_RETURN(step.splits_words, part.flag_or("use_regex", true));
  return step;
}

Result<DigitsStep> load_digits(const JsonPart& part) {
  RETURN_IF_ERROR(part.only({"type", "individual_digits"}));
  DigitsStep step;
  ASSIGN_OR_RETURN(step.is_individual, part.flag("individual_digits"));
  return step;
}

Result<MetaspaceStep> load_metaspace(const JsonPart& part) {
  RETURN_IF_ERROR(
      part.only({"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"}));
  MetaspaceStep step;
  ASSIGN_OR_RETURN(step.replacement, part.character("replacement"));
  ASSIGN_OR_RETURN(step.splits_words, part.flag_or("split", true));
  ASSIGN_OR_RETURN(const std::string scheme, part.text_or("prepend_scheme", "always"));
  if (scheme == "always") {
    step.prepend = MetaspaceStep::Prepend::kAlways;
  } else if (scheme == "first") {
    step.prepend = MetaspaceStep::Prepend::kFirst;
  } else if (scheme == "never") {
    step.prepend = MetaspaceStep::Prepend::kNever;
  } else {
    return unsupported(part.path_of("prepend_scheme"), quote_text(scheme) + " is unknown");
  }
  ASSIGN_OR_RETURN(const bool adds_prefix_space, part.flag_or("add_prefix_space", true));
  if (!adds_prefix_space && step.prepend != MetaspaceStep::Prepend::kNever) {
    return invalid_argument(part.path_of("add_prefix_space"), "contradicts prepend_scheme");
  }
  return step;
}

Status load_steps(const JsonPart& part, int nesting, std::vector<PreTokenizerStep>& steps) {
  ASSIGN_OR_RETURN(const std::string type, part.text("type"));
  if (steps.size() >= kStepsMax || nesting > kNestingMax) {
    return invalid_argument(part.path(), "has more than " + std::to_string(kStepsMax) +
                                             " steps, or more than " + std::to_string(kNestingMax) +
                                             " levels");
  }
  if (type == "Sequence") {
    RETURN_IF_ERROR(part.only({"type", "pretokenizers"}));
    ASSIGN_OR_RETURN(const Json* members, part.array("pretokenizers"));
    for (size_t i = 0; i < members->size(); ++i) {
      ASSIGN_OR_RETURN(const JsonPart member,
                       JsonPart::of((*members)[i], json_path(part.path_of("pretokenizers"), i)));
      RETURN_IF_ERROR(load_steps(member, nesting + 1, steps));
    }
    return {};
  }
  if (type == "Split") {
    ASSIGN_OR_RETURN(SplitStep step, load_split(part));
    steps.emplace_back(std::move(step));
  } else if (type == "ByteLevel") {
    ASSIGN_OR_RETURN(ByteLevelStep step, load_byte_level(part));
    steps.emplace_back(step);
  } else if (type == "Digits") {
    ASSIGN_OR_RETURN(DigitsStep step, load_digits(part));
    steps.emplace_back(step);
  } else if (type == "Metaspace") {
    ASSIGN_OR_RETURN(MetaspaceStep step, load_metaspace(part));
    steps.emplace_back(std::move(step));
  } else {
    return unsupported(part.path_of("type"), quote_text(type) + " is not implemented");
  }
  return {};
}

}  // namespace

Result<PreTokenizer> PreTokenizer::load(const Json* json, const std::string& path) {
  std::vector<PreTokenizerStep> steps;
  if (json != nullptr) {
    ASSIGN_OR_RETURN(const JsonPart part, JsonPart::of(*json, path));
    RETURN_IF_ERROR(load_steps(part, 0, steps));
  }
  return PreTokenizer(std::move(steps));
}

}  // namespace cascade
