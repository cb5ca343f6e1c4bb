// Errors of the template engine: how they are made, and how their message gets its line.
#include "model/jinja/error.h"

#include <utility>

#include "base/utf8.h"

namespace cascade::jinja {
namespace {

constexpr size_t kQuotedBytesMax = 64;

}  // namespace

Error template_error(std::string message) {
  return invalid_argument("", std::move(message));
}

Error limit_error(std::string message) {
  return resource_exhausted("", std::move(message));
}

Error raised_error(std::string message) {
  return invalid_argument(std::string(kErrorField), std::move(message));
}

Error at_line(Error error, int line) {
  if (!error.field.empty()) return error;
  error.field = kErrorField;
  error.message = "line " + std::to_string(line) + ": " + error.message;
  return error;
}

Error without_line(Error error) {
  error.field = kErrorField;
  return error;
}

std::string in_quotes(std::string_view name) {
  std::string_view kept = name.substr(0, kQuotedBytesMax);
  kept.remove_suffix(utf8_incomplete_suffix(kept));
  return "'" + std::string(kept) + (kept.size() < name.size() ? "...'" : "'");
}

}  // namespace cascade::jinja
