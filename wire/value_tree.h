// A MessagePack document as a flat, bounded list of values, into which hostile bytes are parsed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/limits.h"

namespace cascade::wire {

enum class ValueType : uint8_t {
  kNil,
  kBool,
  kUnsigned,
  kNegative,
  kFloat,
  kString,
  kBytes,
  kExtension,
  kArray,
  kMap
};

struct Value {
  uint64_t payload = 0;  // bool, integer, bits of a double, or the offset of bytes in the document
  uint32_t size = 0;     // bytes of a string, elements of an array, pairs of a map
  uint32_t end = 0;      // number of the first value after this one and all that it contains
  ValueType type = ValueType::kNil;

  double as_double() const { return std::bit_cast<double>(payload); }
  int64_t as_negative() const { return static_cast<int64_t>(payload); }
};

// Value 0 is the document, which is a map. A map is followed by key, value, key, value ...; the
// values of an array follow it. Keys are strings.
class ValueTree {
 public:
  // Refers to `document`, which must outlive the tree.
  // Errors: kInvalidArgument (field "body"): not one MessagePack map with string keys, truncated,
  // bytes after the map, or a limit of limits.h exceeded. Memory grows with the bytes read, never
  // with a size that they claim.
  static Result<ValueTree> parse(std::string_view document);

  const Value& at(uint32_t number) const { return values_[number]; }
  // The bytes of a string or byte string.
  std::string_view bytes(const Value& value) const {
    return document_.substr(static_cast<size_t>(value.payload), value.size);
  }

 private:
  std::string_view document_;
  std::vector<Value> values_;
};

}  // namespace cascade::wire
