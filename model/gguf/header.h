// The GGUF format (github.com/ggml-org/ggml, docs/gguf.md), versions 2 and 3: the part of a file
// before the data of its tensors. Everything is checked against the file before it decides the size
// of anything.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/gguf/metadata.h"
#include "model/tensor_type.h"

namespace cascade {

struct GgufTensor {
  std::string name;
  TensorType type = TensorType::kF32;
  // In the file's order: values along the first dimension lie side by side.
  std::vector<uint64_t> dimensions;
  uint64_t begin = 0;  // offsets into the file
  uint64_t end = 0;
};

struct GgufHeader {
  uint32_t version = 0;
  GgufMetadata metadata;            // views into the file
  std::vector<GgufTensor> tensors;  // in the order of the file's table
};

// Parses and checks the header of `file`, the bytes of the whole file, which must outlive the
// result. Limits: 65,536 keys of at most 256 bytes; strings of 1 MiB; arrays of 4,194,304 elements,
// which are not arrays; 65,536 tensors, names of 1 to 64 bytes, 1 to 4 dimensions of at least 1; an
// alignment that is a power of two from 8 to 4,096 (32 if the file says none). Errors, field = key,
// tensor or "header": kDataCorrupt for a file that is not GGUF or is cut off, a value beyond these
// limits, a count or length that the rest of the file cannot hold, an unknown type of value, a key
// or tensor twice, a row that is not whole blocks, data that is not aligned, not within the file,
// or within another tensor's. kInvalidArgument for an alignment outside its range. kUnsupported for
// another version, a big-endian file, an array of arrays, or a tensor of a type that we do not
// read, which is named.
Result<GgufHeader> parse_gguf_header(std::span<const uint8_t> file);

}  // namespace cascade
