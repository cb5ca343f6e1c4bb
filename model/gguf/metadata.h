// The keys and values of a GGUF file, and typed access to them that names key and limit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cascade {

// The numbers are those of the format.
enum class GgufValueType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// "u8", "string", ...
std::string_view to_string(GgufValueType type);
// The bytes of a number or truth value; 0 for strings and arrays.
size_t value_bytes(GgufValueType type);

// Elements of one type, which is not an array. Views into the file.
struct GgufArray {
  GgufValueType type = GgufValueType::kU8;
  uint64_t count = 0;
  std::span<const uint8_t> bytes;         // for numbers or truth values: count * value_bytes(type)
  std::vector<std::string_view> strings;  // for strings: `count` of them
};

// Unsigned and signed whole numbers are kept apart, because a u64 need not fit an int64_t.
using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string_view, GgufArray>;

// The metadata of one file, or of the first of several. Holds views into that file's bytes;
// immutable once filled. Errors of all access: kInvalidArgument, field = key, for a value of
// another kind or outside its limits; kNotFound from required_*() if the key is absent.
class GgufMetadata {
 public:
  // Adds a key; false if it is there already.
  bool add(std::string key, GgufValue value) {
    return values_.emplace(std::move(key), std::move(value)).second;
  }

  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const GgufValue* find(std::string_view key) const;
  size_t size() const { return values_.size(); }

  // A whole number in [min, max], of any whole type.
  Result<std::optional<int64_t>> whole(std::string_view key, int64_t min, int64_t max) const;
  Result<int64_t> required_whole(std::string_view key, int64_t min, int64_t max) const;
  // The same; also a list with that number for every layer. kUnsupported if its numbers differ.
  Result<std::optional<int64_t>> whole_of_layers(std::string_view key, int64_t min,
                                                 int64_t max) const;
  // A finite number, whole or not.
  Result<std::optional<double>> number(std::string_view key) const;
  Result<bool> flag_or(std::string_view key, bool fallback) const;
  // Well-formed UTF-8.
  Result<std::optional<std::string>> text(std::string_view key) const;
  Result<std::string> required_text(std::string_view key) const;
  // Null if the key is absent. The strings may be any bytes.
  Result<const std::vector<std::string_view>*> strings(std::string_view key) const;
  // Whole numbers that fit 32 bits; empty if the key is absent.
  Result<std::vector<int32_t>> wholes(std::string_view key) const;
  // Truth values; empty if the key is absent.
  Result<std::vector<bool>> flags(std::string_view key) const;
  // f32 numbers, none of them NaN; empty if the key is absent.
  Result<std::vector<float>> floats(std::string_view key) const;

 private:
  // The array `key`, or null if it is absent; an error if its type does not satisfy `fits`.
  Result<const GgufArray*> array(std::string_view key, std::string_view expected,
                                 const std::function<bool(GgufValueType)>& fits) const;

  std::map<std::string, GgufValue, std::less<>> values_;
};

}  // namespace cascade
