// Regular expressions of tokenizer.json, compiled by PCRE2 with limits on the work of a match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/tokenizer/text_budget.h"

namespace cascade {

// Half-open, in bytes.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

// The memory that a match needs, and the time that all matches in a text may take. One thread.
class RegexScratch {
 public:
  // `budget` must outlive the scratch.
  explicit RegexScratch(TextBudget& budget);
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

  TextBudget& budget() { return budget_; }

 private:
  friend class TokenizerRegex;
  struct Data;
  TextBudget& budget_;
  std::unique_ptr<Data> data_;
};

// Immutable; any thread.
class TokenizerRegex {
 public:
  // `pattern` is in Oniguruma's syntax. Errors, with `field`: kInvalidArgument if it is longer than
  // 16 KiB; kUnsupported if it cannot be translated (regex_dialect.h) or compiled.
  static Result<TokenizerRegex> compile(std::string_view pattern, const std::string& field);

  TokenizerRegex(TokenizerRegex&&) noexcept;
  TokenizerRegex& operator=(TokenizerRegex&&) noexcept;
  ~TokenizerRegex();

  // Walks the matches from left to right, none overlapping another and no empty one directly
  // after another. One thread; refers to the regex, the text and the scratch.
  class Matches {
   public:
    // Preconditions: `text` is well-formed UTF-8.
    Matches(const TokenizerRegex& regex, std::string_view text, RegexScratch& scratch)
        : regex_(regex), text_(text), scratch_(scratch) {}
    // nullopt after the last match. Error kInvalidArgument: this match takes more steps than a
    // match may, or the matches take more time than the budget has.
    Result<std::optional<ByteRange>> next();

   private:
    const TokenizerRegex& regex_;
    std::string_view text_;
    RegexScratch& scratch_;
    size_t from_ = 0;
    std::optional<size_t> last_end_;
  };

 private:
  struct Code;
  explicit TokenizerRegex(std::unique_ptr<Code> code);
  // The first match at or after `from`. Errors as next().
  Result<std::optional<ByteRange>> find(std::string_view text, size_t from,
                                        RegexScratch& scratch) const;
  // Looks for the first match that begins at one of `starts` offsets from `from` on. Returns
  // PCRE2's result: at least 0, or an error.
  int attempt(std::string_view text, size_t from, size_t starts, uint32_t steps,
              RegexScratch& scratch) const;
  Error error_of(int result) const;

  std::unique_ptr<Code> code_;
};

}  // namespace cascade
