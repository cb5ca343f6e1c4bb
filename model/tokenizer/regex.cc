// Regular expressions of tokenizer.json, compiled by PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "model/json_fields.h"
#include "model/tokenizer/regex_dialect.h"

namespace cascade {
namespace {

constexpr size_t kPatternBytesMax = 16 * 1024;  // the longest in use has some 500

// Limits of the search at one start. Backtracking over a run of white space costs one step a
// character, so the steps allow runs of ten million.
constexpr uint32_t kMatchStepsMax = 10'000'000;
constexpr uint32_t kMatchDepthMax = 1'000'000;
constexpr uint32_t kMatchHeapKiB = 64 * 1024;

// PCRE2 cannot be interrupted, and each step may read the rest of the text. So a call gets few
// steps and few starts at first, and more of them only while there is time.
constexpr uint32_t kFirstSteps = 64;  // a word takes 1 to 10 steps
constexpr uint32_t kStepsGrowth = 4;
constexpr size_t kStartsMax = 4096;
// The largest number of bytes that a call may read for each step: each of its starts may read the
// whole rest of the text.
constexpr size_t kReadsMax = size_t{8} << 20;

size_t starts_max(size_t rest) {
  return std::clamp(kReadsMax / (rest + 1), size_t{1}, kStartsMax);
}

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

// A byte that is in every match, if PCRE2 knows one. nullopt if the pattern ignores case somewhere,
// because a match may then have the byte in the other case.
std::optional<char> needed_byte(const pcre2_code* code, std::string_view pattern) {
  uint32_t kind = 0, unit = 0;
  const bool known = pcre2_pattern_info(code, PCRE2_INFO_LASTCODETYPE, &kind) == 0 && kind == 1 &&
                     pcre2_pattern_info(code, PCRE2_INFO_LASTCODEUNIT, &unit) == 0;
  if (!known || unit > 0xFF || pattern.find("(?i") != pattern.npos) return std::nullopt;
  return static_cast<char>(unit);
}

// The first offset from `offset` on where a character begins, or the end.
size_t character_from(std::string_view text, size_t offset) {
  while (offset < text.size() && (static_cast<uint8_t>(text[offset]) & 0xC0) == 0x80) ++offset;
  return offset;
}

}  // namespace

struct RegexScratch::Data {
  MatchDataPtr match{pcre2_match_data_create(1, nullptr)};
  MatchContextPtr context{pcre2_match_context_create(nullptr)};
};

RegexScratch::RegexScratch(TextBudget& budget) : budget_(budget), data_(std::make_unique<Data>()) {
  CHECK(data_->match != nullptr && data_->context != nullptr);
  pcre2_set_depth_limit(data_->context.get(), kMatchDepthMax);
  pcre2_set_heap_limit(data_->context.get(), kMatchHeapKiB);
}

RegexScratch::~RegexScratch() = default;

struct TokenizerRegex::Code {
  CodePtr code;
  std::string field;
  std::optional<char> needed;  // a byte that every match has
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
  CodePtr code(
      pcre2_compile(units(translated), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
                    &error, &offset, context.get()));
  if (code == nullptr) {
    return unsupported(field, "cannot be compiled: " + error_text(error) + " at byte " +
                                  std::to_string(offset) + " of " + quote_text(translated));
  }
  // This fails where memory may not be made executable; PCRE2 then interprets the pattern.
  (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  const std::optional<char> needed = needed_byte(code.get(), translated);
  return TokenizerRegex(std::make_unique<Code>(Code{std::move(code), field, needed}));
}

int TokenizerRegex::attempt(std::string_view text, size_t from, size_t starts, uint32_t steps,
                            RegexScratch& scratch) const {
  pcre2_match_context* context = scratch.data_->context.get();
  pcre2_set_match_limit(context, steps);
  pcre2_set_offset_limit(context, from + starts - 1);
  const auto match = [&](uint32_t options) {
    return pcre2_match(code_->code.get(), units(text), text.size(), from,
                       PCRE2_NO_UTF_CHECK | options, scratch.data_->match.get(), context);
  };
  const int result = match(0);
  // Compiled code has a small stack. If the stack is too small, the interpreter takes over, with
  // heap memory up to its limit.
  return result == PCRE2_ERROR_JIT_STACKLIMIT ? match(PCRE2_NO_JIT) : result;
}

Error TokenizerRegex::error_of(int result) const {
  return invalid_argument(code_->field, "fails on this text: " + error_text(result));
}

Result<std::optional<ByteRange>> TokenizerRegex::find(std::string_view text, size_t from,
                                                      RegexScratch& scratch) const {
  TextBudget& budget = scratch.budget();
  if (code_->needed && text.find(*code_->needed, from) == text.npos) {
    return std::optional<ByteRange>();
  }
  size_t starts = 1;
  uint32_t steps = kFirstSteps;
  bool has_time = budget.has_time_for_call();
  for (; has_time; has_time = budget.has_time()) {
    const int result = attempt(text, from, starts, steps, scratch);
    if (result >= 0) {  // 0 if the pattern has groups, whose ranges are not kept
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(scratch.data_->match.get());
      return std::optional(ByteRange{range[0], range[1]});
    }
    if (result == PCRE2_ERROR_NOMATCH) {
      if (starts > text.size() - from) return std::optional<ByteRange>();
      from = character_from(text, from + starts);
      starts = std::min(2 * starts, starts_max(text.size() - from));
      steps = kFirstSteps;
    } else if (result != PCRE2_ERROR_MATCHLIMIT) {
      return error_of(result);
    } else if (starts > 1) {
      starts = 1;  // one of these starts needs more steps
    } else if (steps < kMatchStepsMax) {
      steps = std::min(kStepsGrowth * steps, kMatchStepsMax);
    } else {
      return error_of(result);
    }
  }
  return invalid_argument(code_->field, "takes more than " + std::to_string(budget.time_max_us()) +
                                            " us of a processor for this text");
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
