// How the targets handle their inputs and errors.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "base/utf8.h"
#include "tests/fuzz/targets.h"

namespace cascade::fuzz {

inline std::string_view text_of(Bytes input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

// Returns the text before the first NUL and the text after it. If there is no NUL, the second text
// is `otherwise`.
inline std::pair<std::string_view, std::string_view> split_at_nul(std::string_view text,
                                                                  std::string_view otherwise) {
  const size_t nul = text.find('\0');
  if (nul == text.npos) return {text, otherwise};
  return {text.substr(0, nul), text.substr(nul + 1)};
}

// An error caused by input must say what is wrong, in words that can be shown.
inline void check_clear(const Error& error) {
  CHECK(!error.message.empty());
  CHECK(error.code != ErrorCode::kInternal);
  CHECK(is_utf8(error.field) && is_utf8(error.message));
}

// Also checks that the error is not a copy of the input and can be logged.
template <class T>
bool is_ok(const Result<T>& result) {
  constexpr size_t kLoggedBytesMax = 2000;
  if (result.ok()) return true;
  check_clear(result.error());
  CHECK(result.error().field.size() + result.error().message.size() <= kLoggedBytesMax);
  return false;
}

}  // namespace cascade::fuzz
