// Writes GGUF files, both right and wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf/metadata.h"

namespace cascade::testing {

// The format's numbers for the types of tensors.
enum GgmlType : uint32_t {
  kGgmlF32 = 0,
  kGgmlF16 = 1,
  kGgmlQ4_0 = 2,
  kGgmlQ5_0 = 6,
  kGgmlQ8_0 = 8,
  kGgmlQ3K = 11,
  kGgmlQ4K = 12,
  kGgmlQ5K = 13,
  kGgmlQ6K = 14,
  kGgmlBf16 = 30,
  kGgmlMxfp4 = 39,
};

inline void append_bytes(std::string& out, const void* from, size_t size) {
  out.append(static_cast<const char*>(from), size);
}
template <class T>
void append_number(std::string& out, T number) {
  append_bytes(out, &number, sizeof number);
}
inline void append_string(std::string& out, std::string_view text) {
  append_number<uint64_t>(out, text.size());
  out += text;
}

// Keys and tensors are written in the order in which they were given, and exactly as the caller
// gives them, even if that is wrong.
class GgufWriter {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;  // of the data; no key states it

  GgufWriter& raw_key(std::string_view key, uint32_t type, std::string_view value) {
    append_string(keys_, key);
    append_number(keys_, type);
    keys_ += value;
    ++key_count_;
    return *this;
  }
  template <class T>
  GgufWriter& number(std::string_view key, GgufValueType type, T value) {
    std::string bytes;
    append_number(bytes, value);
    return raw_key(key, static_cast<uint32_t>(type), bytes);
  }
  GgufWriter& u32(std::string_view key, uint32_t value) {
    return number(key, GgufValueType::kU32, value);
  }
  GgufWriter& f32(std::string_view key, float value) {
    return number(key, GgufValueType::kF32, value);
  }
  GgufWriter& flag(std::string_view key, bool value) {
    return number(key, GgufValueType::kBool, static_cast<uint8_t>(value));
  }
  GgufWriter& text(std::string_view key, std::string_view value) {
    std::string bytes;
    append_string(bytes, value);
    return raw_key(key, static_cast<uint32_t>(GgufValueType::kString), bytes);
  }
  GgufWriter& raw_array(std::string_view key, uint32_t type, uint64_t count,
                        std::string_view elements) {
    std::string bytes;
    append_number(bytes, type);
    append_number(bytes, count);
    return raw_key(key, static_cast<uint32_t>(GgufValueType::kArray), bytes.append(elements));
  }
  GgufWriter& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes;
    for (const std::string& value : values) append_string(bytes, value);
    return raw_array(key, static_cast<uint32_t>(GgufValueType::kString), values.size(), bytes);
  }
  template <class T>
  GgufWriter& numbers(std::string_view key, GgufValueType type, const std::vector<T>& values) {
    std::string bytes;
    for (const T value : values) append_number(bytes, value);
    return raw_array(key, static_cast<uint32_t>(type), values.size(), bytes);
  }

  // The first of `dimensions` is the one whose values lie side by side.
  GgufWriter& tensor(std::string_view name, const std::vector<uint64_t>& dimensions, uint32_t type,
                     std::string_view bytes) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    raw_tensor(name, dimensions, type, data_.size());
    data_ += bytes;
    return *this;
  }
  GgufWriter& raw_tensor(std::string_view name, const std::vector<uint64_t>& dimensions,
                         uint32_t type, uint64_t offset) {
    append_string(tensors_, name);
    append_number(tensors_, static_cast<uint32_t>(dimensions.size()));
    for (const uint64_t dimension : dimensions) append_number(tensors_, dimension);
    append_number(tensors_, type);
    append_number(tensors_, offset);
    ++tensor_count_;
    return *this;
  }

  // Claims other counts than the file has entries.
  GgufWriter& claim(uint64_t tensors, uint64_t keys) {
    tensor_count_ = tensors;
    key_count_ = keys;
    return *this;
  }

  std::string file() const {
    std::string out = "GGUF";
    append_number(out, version);
    append_number(out, tensor_count_);
    append_number(out, key_count_);
    out += keys_;
    out += tensors_;
    out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
    return out + data_;
  }

 private:
  std::string keys_;
  std::string tensors_;
  std::string data_;
  uint64_t key_count_ = 0;
  uint64_t tensor_count_ = 0;
};

inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace cascade::testing
