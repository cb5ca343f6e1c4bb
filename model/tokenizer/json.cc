// Typed access to a part of tokenizer.json.
#include "model/tokenizer/json.h"

#include <algorithm>

#include "base/utf8.h"

namespace cascade {
namespace {

// How many bytes of an unknown field's name an error shows; longer than any field name of a
// tokenizer.
constexpr size_t kFieldBytesMax = 64;

template <class T>
Result<T> with_path(Result<T> result, std::string_view path) {
  if (result.ok()) return result;
  return at_path(std::move(result).error(), path);
}

}  // namespace

std::string json_path(std::string_view path, std::string_view key) {
  std::string joined(path);
  if (!joined.empty()) joined += '.';
  joined += key;
  return joined;
}

std::string json_path(std::string_view path, size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

Error at_path(Error error, std::string_view path) {
  error.field = json_path(path, error.field);
  return error;
}

Result<JsonPart> JsonPart::of(const Json& value, std::string path) {
  if (!value.is_object()) {
    return invalid_argument(std::move(path),
                            "must be an object, got " + std::string(value.type_name()));
  }
  return JsonPart(value, std::move(path));
}

const Json* JsonPart::find(std::string_view key) const {
  const auto found = value_->find(std::string(key));
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

Result<JsonPart> JsonPart::child(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return invalid_argument(path_of(key), "is missing");
  return of(*value, path_of(key));
}

Result<const Json*> JsonPart::array(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return invalid_argument(path_of(key), "is missing");
  if (!value->is_array()) {
    return invalid_argument(path_of(key),
                            "must be an array, got " + std::string(value->type_name()));
  }
  return value;
}

Result<std::string> JsonPart::text(std::string_view key) const {
  ASSIGN_OR_RETURN(std::string value, with_path(required_string(*value_, key), path_));
  if (!is_utf8(value)) return invalid_argument(path_of(key), "is not UTF-8");
  return value;
}

Result<std::string> JsonPart::text_or(std::string_view key, std::string_view fallback) const {
  if (find(key) == nullptr) return std::string(fallback);
  return text(key);
}

Result<std::string> JsonPart::character(std::string_view key) const {
  ASSIGN_OR_RETURN(std::string value, text(key));
  if (value.empty() || utf8_decode(value, 0).size != value.size()) {
    return invalid_argument(path_of(key), "must be exactly one character");
  }
  return value;
}

Result<bool> JsonPart::flag(std::string_view key) const {
  if (find(key) == nullptr) return invalid_argument(path_of(key), "is missing");
  return flag_or(key, false);
}

Result<bool> JsonPart::flag_or(std::string_view key, bool fallback) const {
  return with_path(optional_bool(*value_, key, fallback), path_);
}

Result<int64_t> JsonPart::whole(std::string_view key, int64_t min, int64_t max) const {
  return with_path(required_int(*value_, key, min, max), path_);
}

Status JsonPart::only(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : value_->items()) {
    if (value.is_null() || std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::string shown = key.size() <= kFieldBytesMax ? key : quote_text(key);
    return unsupported(path_of(shown), "is a field that this tokenizer does not know");
  }
  return {};
}

}  // namespace cascade
