// Typed access to the keys and values of a GGUF file.
#include "model/gguf/metadata.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"

namespace cascade {
namespace {

constexpr std::array<std::string_view, 13> kNames = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

std::string_view kind_of(const GgufValue& value) {
  constexpr std::array<std::string_view, 6> kKinds = {
      "a whole number", "a whole number", "a number", "a truth value", "a string", "an array"};
  return kKinds[value.index()];
}

Error ill_typed(std::string_view key, std::string_view expected, const GgufValue& value) {
  return invalid_argument(std::string(key), "must be " + std::string(expected) + ", but is " +
                                                std::string(kind_of(value)));
}

Error absent(std::string_view key) {
  return not_found(std::string(key), "is missing");
}

Error out_of_range(std::string_view key, int64_t min, int64_t max, const std::string& got) {
  return invalid_argument(std::string(key), "must be from " + std::to_string(min) + " to " +
                                                std::to_string(max) + ", got " + got);
}

template <class T>
T element(const GgufArray& array, uint64_t index) {
  T value;
  std::memcpy(&value, array.bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// Element `index` of an array of whole numbers, if it fits an int64_t.
std::optional<int64_t> whole_element(const GgufArray& array, uint64_t index) {
  switch (array.type) {
    case GgufValueType::kU8: return element<uint8_t>(array, index);
    case GgufValueType::kI8: return element<int8_t>(array, index);
    case GgufValueType::kU16: return element<uint16_t>(array, index);
    case GgufValueType::kI16: return element<int16_t>(array, index);
    case GgufValueType::kU32: return element<uint32_t>(array, index);
    case GgufValueType::kI32: return element<int32_t>(array, index);
    case GgufValueType::kI64: return element<int64_t>(array, index);
    case GgufValueType::kU64: {
      const auto value = element<uint64_t>(array, index);
      if (value > uint64_t{INT64_MAX}) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default: return std::nullopt;
  }
}

bool is_whole(GgufValueType type) {
  return value_bytes(type) != 0 && type != GgufValueType::kF32 && type != GgufValueType::kF64 &&
         type != GgufValueType::kBool;
}

}  // namespace

std::string_view to_string(GgufValueType type) {
  const auto index = static_cast<size_t>(type);
  CHECK(index < kNames.size());
  return kNames[index];
}

size_t value_bytes(GgufValueType type) {
  switch (type) {
    case GgufValueType::kU8:
    case GgufValueType::kI8:
    case GgufValueType::kBool: return 1;
    case GgufValueType::kU16:
    case GgufValueType::kI16: return 2;
    case GgufValueType::kU32:
    case GgufValueType::kI32:
    case GgufValueType::kF32: return 4;
    case GgufValueType::kU64:
    case GgufValueType::kI64:
    case GgufValueType::kF64: return 8;
    case GgufValueType::kString:
    case GgufValueType::kArray: return 0;
  }
  return 0;
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Result<std::optional<int64_t>> GgufMetadata::whole(std::string_view key, int64_t min,
                                                   int64_t max) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<int64_t>();
  int64_t number = 0;
  if (const auto* positive = std::get_if<uint64_t>(value)) {
    if (*positive > uint64_t{INT64_MAX}) {
      return out_of_range(key, min, max, std::to_string(*positive));
    }
    number = static_cast<int64_t>(*positive);
  } else if (const auto* any = std::get_if<int64_t>(value)) {
    number = *any;
  } else {
    return ill_typed(key, "a whole number", *value);
  }
  if (number < min || number > max) return out_of_range(key, min, max, std::to_string(number));
  return std::optional(number);
}

Result<std::optional<int64_t>> GgufMetadata::whole_of_layers(std::string_view key, int64_t min,
                                                             int64_t max) const {
  const GgufValue* value = find(key);
  if (value == nullptr || !std::holds_alternative<GgufArray>(*value)) return whole(key, min, max);
  ASSIGN_OR_RETURN(const std::vector<int32_t> list, wholes(key));
  if (list.empty()) return invalid_argument(std::string(key), "must not be an empty list");
  const int32_t first = list.front();
  if (std::ranges::count(list, first) != static_cast<ptrdiff_t>(list.size())) {
    return unsupported(std::string(key), "must be the same number for all layers");
  }
  if (first < min || first > max) return out_of_range(key, min, max, std::to_string(first));
  return std::optional<int64_t>(first);
}

Result<int64_t> GgufMetadata::required_whole(std::string_view key, int64_t min, int64_t max) const {
  ASSIGN_OR_RETURN(const std::optional<int64_t> value, whole(key, min, max));
  if (!value) return absent(key);
  return *value;
}

Result<std::optional<double>> GgufMetadata::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<double>();
  if (const auto* positive = std::get_if<uint64_t>(value)) {
    return std::optional(static_cast<double>(*positive));
  }
  if (const auto* any = std::get_if<int64_t>(value)) {
    return std::optional(static_cast<double>(*any));
  }
  const auto* number = std::get_if<double>(value);
  if (number == nullptr) return ill_typed(key, "a number", *value);
  if (!std::isfinite(*number)) return invalid_argument(std::string(key), "is not finite");
  return std::optional(*number);
}

Result<bool> GgufMetadata::flag_or(std::string_view key, bool fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  const auto* flag = std::get_if<bool>(value);
  if (flag == nullptr) return ill_typed(key, "a truth value", *value);
  return *flag;
}

Result<std::optional<std::string>> GgufMetadata::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  const auto* text = std::get_if<std::string_view>(value);
  if (text == nullptr) return ill_typed(key, "a string", *value);
  if (!is_utf8(*text)) return invalid_argument(std::string(key), "is not UTF-8");
  return std::optional(std::string(*text));
}

Result<std::string> GgufMetadata::required_text(std::string_view key) const {
  ASSIGN_OR_RETURN(std::optional<std::string> value, text(key));
  if (!value) return absent(key);
  return *std::move(value);
}

Result<const GgufArray*> GgufMetadata::array(std::string_view key, std::string_view expected,
                                             const std::function<bool(GgufValueType)>& fits) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return nullptr;
  const std::string wanted = "an array of " + std::string(expected);
  const auto* array = std::get_if<GgufArray>(value);
  if (array == nullptr) return ill_typed(key, wanted, *value);
  if (fits(array->type)) return array;
  return invalid_argument(std::string(key), "must be " + wanted + ", but is one of " +
                                                std::string(to_string(array->type)));
}

Result<const std::vector<std::string_view>*> GgufMetadata::strings(std::string_view key) const {
  ASSIGN_OR_RETURN(const GgufArray* found, array(key, "strings", [](GgufValueType type) {
                     return type == GgufValueType::kString;
                   }));
  if (found == nullptr) return nullptr;
  return &found->strings;
}

Result<std::vector<int32_t>> GgufMetadata::wholes(std::string_view key) const {
  ASSIGN_OR_RETURN(const GgufArray* found, array(key, "whole numbers", is_whole));
  std::vector<int32_t> values;
  if (found == nullptr) return values;
  values.reserve(found->count);
  for (uint64_t i = 0; i < found->count; ++i) {
    const std::optional<int64_t> value = whole_element(*found, i);
    if (!value || *value < INT32_MIN || *value > INT32_MAX) {
      return invalid_argument(std::string(key),
                              "element " + std::to_string(i) + " does not fit 32 bits");
    }
    values.push_back(static_cast<int32_t>(*value));
  }
  return values;
}

Result<std::vector<bool>> GgufMetadata::flags(std::string_view key) const {
  ASSIGN_OR_RETURN(const GgufArray* found, array(key, "truth values", [](GgufValueType type) {
                     return type == GgufValueType::kBool;
                   }));
  std::vector<bool> values;
  for (uint64_t i = 0; found != nullptr && i < found->count; ++i) {
    values.push_back(found->bytes[i] != 0);
  }
  return values;
}

Result<std::vector<float>> GgufMetadata::floats(std::string_view key) const {
  ASSIGN_OR_RETURN(const GgufArray* found, array(key, "f32", [](GgufValueType type) {
                     return type == GgufValueType::kF32;
                   }));
  std::vector<float> values;
  if (found == nullptr) return values;
  values.resize(found->count);
  if (found->count > 0) std::memcpy(values.data(), found->bytes.data(), found->bytes.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      return invalid_argument(std::string(key),
                              "element " + std::to_string(i) + " is not a number");
    }
  }
  return values;
}

}  // namespace cascade
