// The pre-tokenizer of tokenizer.json: cuts a text into the pieces that are merged separately.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/tokenizer/pre_tokenizer_patterns.h"
#include "model/tokenizer/pre_tokenizer_split.h"
#include "model/tokenizer/regex.h"

namespace cascade {

// Splits at a literal, a regular expression, or a hand-written one.
struct SplitStep {
  std::variant<std::string, TokenizerRegex, KnownPattern> pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool is_inverted = false;  // the pattern says what is kept, not what delimits
};

// Spells bytes in the byte-level alphabet.
struct ByteLevelStep {
  bool adds_prefix_space = true;
  bool splits_words = true;  // by GPT-2's pattern
};

// Separates numbers from the rest.
struct DigitsStep {
  bool is_individual = false;
};

// Writes spaces as a visible character.
struct MetaspaceStep {
  enum class Prepend : uint8_t { kNever, kFirst, kAlways };
  std::string replacement;
  Prepend prepend = Prepend::kAlways;
  bool splits_words = true;
};

using PreTokenizerStep = std::variant<SplitStep, ByteLevelStep, DigitsStep, MetaspaceStep>;

// Takes the pieces of a text in order.
class PieceSink {
 public:
  virtual ~PieceSink() = default;
  // `piece` is not empty, and is valid during the call.
  virtual void piece(std::string_view piece) = 0;
};

// Immutable after load; any thread.
class PreTokenizer {
 public:
  // `json` is the member "pre_tokenizer", or null for none: the text is one piece. Errors, with the
  // path of the field: kUnsupported for an unknown type, field, behaviour or a regular expression
  // that we cannot take; kInvalidArgument for a malformed field, and more than 32 steps.
  static Result<PreTokenizer> load(const Json* json, const std::string& path);

  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  // Whether the last step spells the pieces in the byte-level alphabet.
  bool ends_with_byte_level() const;
  // Makes the last step, which must be ByteLevel, give bytes as they are.
  void give_raw_bytes() { gives_raw_bytes_ = true; }

  // Gives the pieces of `text` to `sink`. `is_text_start`: `text` begins where the whole text does.
  // The output of the steps is taken from the budget of `scratch`. Precondition: well-formed UTF-8.
  // Error kInvalidArgument: the budget is too small, or a match fails.
  Status split(std::string_view text, bool is_text_start, RegexScratch& scratch,
               PieceSink& sink) const;

 private:
  friend class PreTokenizerJob;

  std::vector<PreTokenizerStep> steps_;
  bool gives_raw_bytes_ = false;
};

}  // namespace cascade
