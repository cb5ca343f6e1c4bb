// The normalizer of tokenizer.json: rewrites a text before it is cut into words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/tokenizer/regex.h"
#include "model/tokenizer/unicode.h"

namespace cascade {

// An edge of a range in a text. It moves when the text is rewritten, but the range never comes to
// hold text from outside it.
struct TextMark {
  size_t offset = 0;
  bool is_end = false;
  bool operator==(const TextMark&) const = default;
};

struct PrependStep {
  std::string text;
};
struct ReplaceStep {
  std::variant<std::string, TokenizerRegex> pattern;
  std::string content;
};
struct TrimStep {
  bool is_left = false;
  bool is_right = false;
};

using NormalizerStep = std::variant<UnicodeForm, PrependStep, ReplaceStep, TrimStep>;

// Immutable after load; any thread.
class Normalizer {
 public:
  // `json` is the member "normalizer", or null for none. Errors, with the path of the field:
  // kUnsupported for an unknown type or field, a regular expression that we cannot take, or "$" in
  // the replacement for a regular expression's match; kInvalidArgument for a malformed field, and
  // more than 32 steps.
  static Result<Normalizer> load(const Json* json, const std::string& path);

  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  bool is_identity() const { return steps_.empty(); }

  // Rewrites `text`, which is well-formed UTF-8, and moves `marks`, which are in ascending order of
  // their offsets and lie at starts of code points. Takes the size of the result from the budget of
  // `scratch`. Errors: kInvalidArgument if the budget is too small, or a match fails; `text` is
  // then partly rewritten.
  Status apply(std::string& text, std::vector<TextMark>& marks, RegexScratch& scratch) const;

 private:
  std::vector<NormalizerStep> steps_;
};

}  // namespace cascade
