// Messages as JSON, with the field names of the protocol.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "clients/cpp/client.h"
#include "wire/enum_names.h"
#include "wire/reply_fields.h"

namespace cascade::ctl {

// An archive over the messages' fields() (wire/*_fields.h) that writes a JSON object.
class JsonFields {
 public:
  static constexpr bool kReads = false;

  template <class T>
  void required(std::string_view name, const T& value) {
    object_[std::string(name)] = json_of(value);
  }
  template <class T>
  void optional(std::string_view name, const T& value) {
    required(name, value);
  }
  template <class T>
  void numbers(std::string_view name, const std::vector<T>& value) {
    required(name, value);
  }
  OrderedJson take() { return std::move(object_); }

 private:
  template <class T>
  static OrderedJson json_of(const T& value);
  template <class T>
  static OrderedJson json_of(const std::vector<T>& value);
  template <class T>
  static OrderedJson json_of(const std::optional<T>& value) {
    return value.has_value() ? json_of(*value) : OrderedJson(nullptr);
  }

  OrderedJson object_ = OrderedJson::object();
};

// {"chunks": [...]}: chunks with their number of tokens as "tokens".
OrderedJson json_of_list(const std::vector<client::ChunkInfo>& chunks);

// A reply or a chunk as an object.
template <class T>
OrderedJson to_json_object(const T& value) {
  using wire::fields;
  JsonFields archive;
  fields(archive, value);
  return archive.take();
}

template <class T>
OrderedJson JsonFields::json_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    return wire::enum_name(value);
  } else {
    return to_json_object(value);
  }
}

template <class T>
OrderedJson JsonFields::json_of(const std::vector<T>& value) {
  OrderedJson array = OrderedJson::array();
  for (const T& element : value) array.push_back(json_of(element));
  return array;
}

}  // namespace cascade::ctl
