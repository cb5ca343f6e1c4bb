// Typed access to the members of a request's JSON object; the first problem is kept and names its
// param.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cascade::openai {

// The JSON of a request's body. Errors: kInvalidArgument (field "body") if it is no JSON object, or
// nested deeper than 64 levels.
Result<OrderedJson> parse_body(std::string_view body);

// Views an object, which outlives it. Absent and null members are the same.
class Fields {
 public:
  // `path`: before the names of the members in errors, e.g. "messages[2].".
  explicit Fields(const OrderedJson& object, std::string path = "");

  const OrderedJson* find(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key);
  // 10.0 is as good as 10.
  std::optional<int64_t> integer(std::string_view key, int64_t min, int64_t max);
  std::optional<double> number(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  // An array or nullptr; an object or nullptr.
  const OrderedJson* array(std::string_view key);
  const OrderedJson* object(std::string_view key);

  // The member is something that we know and cannot do: an error unless it is absent or `harmless`.
  void refuse(std::string_view key, const OrderedJson& harmless, const char* why);

  void fail(std::string_view key, std::string message);
  // The first problem wins.
  void fail(const Status& status);
  std::string path(std::string_view key) const { return path_ + std::string(key); }
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

 private:
  const OrderedJson& object_;
  const std::string path_;
  Status status_;
};

}  // namespace cascade::openai
