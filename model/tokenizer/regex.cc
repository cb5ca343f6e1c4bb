// Regular expressions of tokenizer.json, compiled by PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/regex.h"

#include <pcre2.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "model/json_fields.h"
#include "model/tokenizer/regex_dialect.h"

namespace cascade {
namespace {

constexpr size_t kPatternBytesMax = 16 * 1024;  // the longest in use has some 500

// Limits of one attempt. Backtracking over a run of white space costs one step a character, so the
// steps allow runs of ten million; a pattern that explodes ends within a second.
constexpr uint32_t kMatchStepsMax = 10'000'000;
constexpr uint32_t kMatchDepthMax = 1'000'000;
constexpr uint32_t kMatchHeapKiB = 64 * 1024;

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

using CodePtr = std::unique_ptr<pcre2_code, Freer<pcre2_code_free>>;
using MatchDataPtr = std::unique_ptr<pcre2_match_data, Freer<pcre2_match_data_free>>;
using MatchContextPtr = std::unique_ptr<pcre2_match_context, Freer<pcre2_match_context_free>>;
using CompileContextPtr = std::unique_ptr<pcre2_compile_context, Freer<pcre2_compile_context_free>>;

std::string error_text(int error) {
  std::array<PCRE2_UCHAR, 160> buffer{};
  const int size = pcre2_get_error_message(error, buffer.data(), buffer.size());
  if (size < 0) return "error " + std::to_string(error);
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(size)};
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct RegexScratch::Data {
  MatchDataPtr match{pcre2_match_data_create(1, nullptr)};
  MatchContextPtr context{pcre2_match_context_create(nullptr)};
};

RegexScratch::RegexScratch() : data_(std::make_unique<Data>()) {
  CHECK(data_->match != nullptr && data_->context != nullptr);
  pcre2_set_match_limit(data_->context.get(), kMatchStepsMax);
  pcre2_set_depth_limit(data_->context.get(), kMatchDepthMax);
  pcre2_set_heap_limit(data_->context.get(), kMatchHeapKiB);
}

RegexScratch::~RegexScratch() = default;

struct TokenizerRegex::Code {
  CodePtr code;
  std::string field;
};

TokenizerRegex::TokenizerRegex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
TokenizerRegex::TokenizerRegex(TokenizerRegex&&) noexcept = default;
TokenizerRegex& TokenizerRegex::operator=(TokenizerRegex&&) noexcept = default;
TokenizerRegex::~TokenizerRegex() = default;

Result<TokenizerRegex> TokenizerRegex::compile(std::string_view pattern, const std::string& field) {
  if (pattern.size() > kPatternBytesMax) {
    return invalid_argument(field, "is longer than " + std::to_string(kPatternBytesMax) + " bytes");
  }
  ASSIGN_OR_RETURN(const std::string translated, pcre2_pattern(pattern, field));
  const CompileContextPtr context(pcre2_compile_context_create(nullptr));
  CHECK(context != nullptr);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  CodePtr code(pcre2_compile(units(translated), translated.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                             context.get()));
  if (code == nullptr) {
    return unsupported(field, "cannot be compiled: " + error_text(error) + " at byte " +
                                  std::to_string(offset) + " of " + quote_text(translated));
  }
  // Where memory may not be made executable this fails, and matches are interpreted.
  (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return TokenizerRegex(std::make_unique<Code>(Code{std::move(code), field}));
}

Result<std::optional<ByteRange>> TokenizerRegex::find(std::string_view text, size_t from,
                                                      RegexScratch& scratch) const {
  pcre2_match_data* match = scratch.data_->match.get();
  const auto attempt = [&](uint32_t options) {
    return pcre2_match(code_->code.get(), units(text), text.size(), from,
                       PCRE2_NO_UTF_CHECK | options, match, scratch.data_->context.get());
  };
  int count = attempt(0);
  // Compiled code has a small stack; the interpreter takes heap memory up to its limit.
  if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = attempt(PCRE2_NO_JIT);
  if (count == PCRE2_ERROR_NOMATCH) return std::optional<ByteRange>();
  if (count < 0) return invalid_argument(code_->field, "fails on this text: " + error_text(count));
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match);
  return std::optional(ByteRange{range[0], range[1]});
}

Result<std::optional<ByteRange>> TokenizerRegex::Matches::next() {
  while (from_ <= text_.size()) {
    ASSIGN_OR_RETURN(const std::optional<ByteRange> found, regex_.find(text_, from_, scratch_));
    if (!found) break;
    // Only \K could move the start, and it is not translated.
    CHECK(found->begin >= from_ && found->end >= found->begin);
    const bool is_repeated = found->begin == found->end && last_end_ == found->end;
    if (!is_repeated) {
      from_ = found->end;
      last_end_ = found->end;
      return found;
    }
    if (from_ == text_.size()) break;
    from_ += utf8_decode(text_, from_).size;
  }
  from_ = text_.size() + 1;
  return std::optional<ByteRange>();
}

}  // namespace cascade
