// Error codes, their names on the wire, and constructors for common errors.
#include "base/result.h"

#include <array>
#include <cerrno>
#include <system_error>

namespace cascade {
namespace {

struct CodeName {
  ErrorCode code;
  std::string_view name;
};

constexpr std::array<CodeName, 11> kCodeNames = {{
    {ErrorCode::kInvalidArgument, "invalid_argument"},
    {ErrorCode::kNotFound, "not_found"},
    {ErrorCode::kConflict, "conflict"},
    {ErrorCode::kResourceExhausted, "resource_exhausted"},
    {ErrorCode::kUnsupported, "unsupported"},
    {ErrorCode::kDataCorrupt, "data_corrupt"},
    {ErrorCode::kIo, "io"},
    {ErrorCode::kCancelled, "cancelled"},
    {ErrorCode::kDeadlineExceeded, "deadline_exceeded"},
    {ErrorCode::kUnavailable, "unavailable"},
    {ErrorCode::kInternal, "internal"},
}};

}  // namespace

std::string_view to_string(ErrorCode code) {
  for (const CodeName& entry : kCodeNames) {
    if (entry.code == code) return entry.name;
  }
  return "internal";
}

std::optional<ErrorCode> error_code_from_string(std::string_view name) {
  for (const CodeName& entry : kCodeNames) {
    if (entry.name == name) return entry.code;
  }
  return std::nullopt;
}

std::string Error::to_string() const {
  std::string text(cascade::to_string(code));
  text += ": ";
  if (!field.empty()) text += field + ": ";
  return text + message;
}

Error invalid_argument(std::string field, std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(field), std::move(message)};
}

Error not_found(std::string field, std::string message) {
  return {ErrorCode::kNotFound, std::move(field), std::move(message)};
}

Error unsupported(std::string field, std::string message) {
  return {ErrorCode::kUnsupported, std::move(field), std::move(message)};
}

Error data_corrupt(std::string field, std::string message) {
  return {ErrorCode::kDataCorrupt, std::move(field), std::move(message)};
}

Error resource_exhausted(std::string field, std::string message) {
  return {ErrorCode::kResourceExhausted, std::move(field), std::move(message)};
}

Error io_error(std::string what, int errno_value) {
  const ErrorCode code = errno_value == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  std::string why = std::error_code(errno_value, std::generic_category()).message();
  if (errno_value == ENOMEM) why += ": see the limits of the process (ulimit -v, MemoryMax=)";
  return {code, std::move(what), std::move(why)};
}

}  // namespace cascade
