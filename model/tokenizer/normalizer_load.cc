// Reads the member "normalizer" of tokenizer.json.
#include <array>
#include <optional>
#include <utility>

#include "model/tokenizer/json.h"
#include "model/tokenizer/normalizer.h"

namespace cascade {
namespace {

constexpr size_t kNormalizerStepsMax = 32;  // real files have up to 6
constexpr int kNormalizerNestingMax = 8;    // of Sequence in Sequence; real files have 1
constexpr size_t kNormalizerLiteralBytesMax = 1024;

std::optional<UnicodeForm> unicode_form(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, UnicodeForm>, 4> kForms = {{
      {"NFC", UnicodeForm::kNfc},
      {"NFD", UnicodeForm::kNfd},
      {"NFKC", UnicodeForm::kNfkc},
      {"NFKD", UnicodeForm::kNfkd},
  }};
  for (const auto& [name, form] : kForms) {
    if (name == type) return form;
  }
  return std::nullopt;
}

Result<std::string> load_literal(const JsonPart& part, std::string_view key, size_t bytes_min) {
  ASSIGN_OR_RETURN(std::string literal, part.text(key));
  if (literal.size() < bytes_min || literal.size() > kNormalizerLiteralBytesMax) {
    return invalid_argument(part.path_of(key), "must have " + std::to_string(bytes_min) + " to " +
                                                   std::to_string(kNormalizerLiteralBytesMax) +
                                                   " bytes");
  }
  return literal;
}

Result<ReplaceStep> load_replace(const JsonPart& part) {
  RETURN_IF_ERROR(part.only({"type", "pattern", "content"}));
  ASSIGN_OR_RETURN(std::string content, load_literal(part, "content", 0));
  ASSIGN_OR_RETURN(const JsonPart pattern, part.child("pattern"));
  RETURN_IF_ERROR(pattern.only({"String", "Regex"}));
  if (pattern.find("Regex") == nullptr) {
    ASSIGN_OR_RETURN(std::string literal, load_literal(pattern, "String", 1));
    return ReplaceStep{std::move(literal), std::move(content)};
  }
  if (content.find('$') != std::string::npos) {
    return unsupported(part.path_of("content"), "refers to a group of the regular expression");
  }
  ASSIGN_OR_RETURN(const std::string text, pattern.text("Regex"));
  ASSIGN_OR_RETURN(TokenizerRegex regex, TokenizerRegex::compile(text, pattern.path_of("Regex")));
  return ReplaceStep{std::move(regex), std::move(content)};
}

Result<TrimStep> load_trim(const JsonPart& part) {
  RETURN_IF_ERROR(part.only({"type", "strip_left", "strip_right"}));
  TrimStep step;
  ASSIGN_OR_RETURN(step.is_left, part.flag("strip_left"));
  ASSIGN_OR_RETURN(step.is_right, part.flag("strip_right"));
  return step;
}

Status load_steps(const JsonPart& part, int nesting, std::vector<NormalizerStep>& steps) {
  ASSIGN_OR_RETURN(const std::string type, part.text("type"));
  if (steps.size() >= kNormalizerStepsMax || nesting > kNormalizerNestingMax) {
    return invalid_argument(part.path(), "has more than " + std::to_string(kNormalizerStepsMax) +
                                             " steps, or more than " +
                                             std::to_string(kNormalizerNestingMax) + " levels");
  }
  if (type == "Sequence") {
    RETURN_IF_ERROR(part.only({"type", "normalizers"}));
    ASSIGN_OR_RETURN(const Json* members, part.array("normalizers"));
    for (size_t i = 0; i < members->size(); ++i) {
      ASSIGN_OR_RETURN(const JsonPart member,
                       JsonPart::of((*members)[i], json_path(part.path_of("normalizers"), i)));
      RETURN_IF_ERROR(load_steps(member, nesting + 1, steps));
    }
  } else if (const auto form = unicode_form(type)) {
    RETURN_IF_ERROR(part.only({"type"}));
    steps.emplace_back(*form);
  } else if (type == "Prepend") {
    RETURN_IF_ERROR(part.only({"type", "prepend"}));
    ASSIGN_OR_RETURN(std::string text, load_literal(part, "prepend", 0));
    steps.emplace_back(PrependStep{std::move(text)});
  } else if (type == "Replace") {
    ASSIGN_OR_RETURN(ReplaceStep step, load_replace(part));
    steps.emplace_back(std::move(step));
  } else if (type == "Strip") {
    ASSIGN_OR_RETURN(const TrimStep step, load_trim(part));
    steps.emplace_back(step);
  } else {
    return unsupported(part.path_of("type"), quote_text(type) + " is not implemented");
  }
  return {};
}

}  // namespace

Result<Normalizer> Normalizer::load(const Json* json, const std::string& path) {
  std::vector<NormalizerStep> steps;
  if (json != nullptr) {
    ASSIGN_OR_RETURN(const JsonPart part, JsonPart::of(*json, path));
    RETURN_IF_ERROR(load_steps(part, 0, steps));
  }
  return Normalizer(std::move(steps));
}

}  // namespace cascade
