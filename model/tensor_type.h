// The number formats that tensors are stored in, in files that others wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

// The first three are plain numbers. kMxfp4Apart, of checkpoints, and the others, of GGUF files,
// are blocks of small numbers with shared scales (model/gguf/dequantize.h). kU8 is bytes that are a
// part of something else.
enum class TensorType : uint8_t {
  kF32,
  kF16,
  kBf16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2K,
  kQ3K,
  kQ4K,
  kQ5K,
  kQ6K,
  kIq4Nl,
  kIq4Xs,
  kMxfp4,
  kMxfp4Apart,
  kU8,
};

struct TensorTypeInfo {
  TensorType type;
  std::string_view name;  // as files and people spell it: "BF16", "Q4_K"
  uint32_t block_values;  // a row is whole blocks of this many values
  uint32_t block_bytes;
};

const TensorTypeInfo& describe(TensorType type);
std::string_view to_string(TensorType type);
std::optional<TensorType> tensor_type_from_string(std::string_view name);

// The bytes of `values` values. Preconditions: whole blocks; the bytes fit 64 bits.
inline uint64_t bytes_of_values(TensorType type, uint64_t values) {
  const TensorTypeInfo& info = describe(type);
  return values / info.block_values * info.block_bytes;
}

}  // namespace cascade
