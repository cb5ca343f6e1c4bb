// SHA-256 of the values of a tensor, to compare files and readers by.
#pragma once

#include "base/hash.h"
#include "model/gguf/files.h"

namespace cascade {

// The digest of the f32 values of the tensor, in the file's order, little-endian. `bytes` are the
// tensor's bytes in its file. Takes 1 MiB of memory, whatever the tensor's size.
Digest digest_of_values(const GgufTensor& tensor, std::span<const uint8_t> bytes);

}  // namespace cascade
