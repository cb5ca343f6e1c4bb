// SHA-256 of the values of a tensor.
#include "model/gguf/tensor_digest.h"

#include <algorithm>
#include <vector>

#include "base/sha256.h"
#include "model/weights_packing.h"

namespace cascade {
namespace {

constexpr size_t kValuesAtOnce = size_t{1} << 18;  // whole blocks of every type

}  // namespace

Digest digest_of_values(const GgufTensor& tensor, std::span<const uint8_t> bytes) {
  const TensorTypeInfo& type = describe(tensor.type);
  const Tensor view{tensor.type, {}, bytes};
  const size_t count = bytes.size() / type.block_bytes * type.block_values;
  std::vector<float> values(std::min(count, kValuesAtOnce));
  Sha256 hash;
  for (size_t first = 0; first < count; first += kValuesAtOnce) {
    const size_t some = std::min(kValuesAtOnce, count - first);
    read_elements(view, first, some, values.data());
    hash.update({reinterpret_cast<const uint8_t*>(values.data()), some * sizeof(float)});
  }
  return hash.finish();
}

}  // namespace cascade
