// Result<T>: a value, or the Error that explains why there is no value. For expected failures.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace cascade {

// What a caller can do about an error. to_string() gives the names on the wire.
enum class ErrorCode {
  kInvalidArgument,    // the request or file is wrong and will stay wrong
  kNotFound,           // no such chunk, file, model; or it belongs to another tenant
  kConflict,           // the state forbids it now (a request id that is taken)
  kResourceExhausted,  // a limit of memory, queue or context is reached; retry later may help
  kUnsupported,        // valid, but this build or model cannot do it
  kDataCorrupt,        // a file contradicts itself or its checksum
  kIo,                 // the operating system refused a read or write
  kCancelled,          // the client cancelled the request, or went away
  kDeadlineExceeded,   // the request's own deadline passed
  kUnavailable,        // starting, stopping, or an actor was restarted; retry
  kInternal,           // a bug contained by a supervisor
};

// Stable lower-case name, e.g. "invalid_argument".
std::string_view to_string(ErrorCode code);
// The inverse; nullopt for an unknown name.
std::optional<ErrorCode> error_code_from_string(std::string_view name);

// An error names the field it is about ("rope_theta", "messages[2].role"; may be empty) and says in
// one sentence what is wrong and which limit holds.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string field;
  std::string message;

  // "invalid_argument: max_tokens: must be at least 1, got 0"
  std::string to_string() const;
};

Error invalid_argument(std::string field, std::string message);
Error not_found(std::string field, std::string message);
Error unsupported(std::string field, std::string message);
Error data_corrupt(std::string field, std::string message);
Error resource_exhausted(std::string field, std::string message);
// "<what>: <strerror(errno_value)>" with code kIo (kNotFound for ENOENT).
Error io_error(std::string what, int errno_value);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Precondition: ok().
  T& value() & {
    CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !ok().
  const Error& error() const& {
    CHECK(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    CHECK(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

// Result without a value: default-constructed means success.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace cascade

#define CASCADE_CONCAT_INNER(a, b) a##b
#define CASCADE_CONCAT(a, b) CASCADE_CONCAT_INNER(a, b)

// ASSIGN_OR_RETURN(auto x, f()): x = value of f(), or returns f()'s error from this function.
#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_INNER(CASCADE_CONCAT(result_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_INNER(temporary, target, expression) \
  auto temporary = (expression);                              \
  if (!temporary.ok()) return std::move(temporary).error();   \
  target = std::move(temporary).value()

// RETURN_IF_ERROR(f()): returns f()'s error from this function, or continues if there is none.
#define RETURN_IF_ERROR(expression)                                                 \
  do {                                                                              \
    auto status_of_expression = (expression);                                       \
    if (!status_of_expression.ok()) return std::move(status_of_expression).error(); \
  } while (false)
