// SHA-256 of the values of a tensor, to compare files and readers by.
#pragma once

#include "base/hash.h"
#include "model/gguf/files.h"

namespace cascade {

// Of the f32 values that the tensor stands for, in the file's order, little-endian; `bytes` are
// those of the tensor in its file. Takes 1 MiB of memory, whatever the tensor's size.
Digest digest_of_values(const GgufTensor& tensor, std::span<const uint8_t> bytes);

}  // namespace cascade
