// Typed access to a part of tokenizer.json; every error names the whole path of the field.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "model/json_fields.h"

namespace cascade {

// "path.key", or "key" where the path is empty.
std::string json_path(std::string_view path, std::string_view key);
// "path[index]".
std::string json_path(std::string_view path, size_t index);

// A JSON object and its path from the root of the document. Refers to the Json, which must outlive
// it. An absent member and a null member are the same thing. Errors are kInvalidArgument unless
// said otherwise.
class JsonPart {
 public:
  // Error: `value` is not an object.
  static Result<JsonPart> of(const Json& value, std::string path);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const { return json_path(path_, key); }

  // The member, or null if it is absent or null.
  const Json* find(std::string_view key) const;
  // Error: absent, or not an object / not an array.
  Result<JsonPart> child(std::string_view key) const;
  Result<const Json*> array(std::string_view key) const;
  Result<std::string> text(std::string_view key) const;
  Result<std::string> text_or(std::string_view key, std::string_view fallback) const;
  // A text of one code point.
  Result<std::string> character(std::string_view key) const;
  Result<bool> flag(std::string_view key) const;
  Result<bool> flag_or(std::string_view key, bool fallback) const;
  Result<int64_t> whole(std::string_view key, int64_t min, int64_t max) const;
  // Error kUnsupported: a member that is none of `keys` (one that is null counts as absent).
  Status only(std::initializer_list<std::string_view> keys) const;

 private:
  JsonPart(const Json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const Json* value_;
  std::string path_;
};

// The same error about the field `path`.`error.field`.
Error at_path(Error error, std::string_view path);

}  // namespace cascade
