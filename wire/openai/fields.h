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

// The JSON of a request's body. Errors: kInvalidArgument (field "body") if it is not a JSON object,
// or is nested deeper than 64 levels.
Result<OrderedJson> parse_body(std::string_view body);

// Views an object, which must outlive this. A member that is null counts as absent.
class Fields {
 public:
  // `path` precedes the names of the members in errors, e.g. "messages[2].".
  explicit Fields(const OrderedJson& object, std::string path = "");

  const OrderedJson* find(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key);
  // 10.0 is as good as 10.
  std::optional<int64_t> integer(std::string_view key, int64_t min, int64_t max);
  std::optional<double> number(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  // nullptr if the member is absent, or is not an array or an object, respectively.
  const OrderedJson* array(std::string_view key);
  const OrderedJson* object(std::string_view key);

  // For a member that we know but do not support: an error unless it is absent or `harmless`.
  void refuse(std::string_view key, const OrderedJson& harmless, const char* why);

  void fail(std::string_view key, std::string message);
  // Only the first problem is kept.
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
