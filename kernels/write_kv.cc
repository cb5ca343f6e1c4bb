// Storing a token's K and V, element by element: rounding is integer arithmetic, equal everywhere.
#include "kernels/write_kv.h"

#include "kernels/kv_format.h"

namespace cascade {

void write_kv(KvType type, int head_dim, int token, const float* key, const float* value,
              uint8_t* key_block, uint8_t* value_block) {
  for (int d = 0; d < head_dim; ++d) {
    store_kv(type, key_block, key_index(type, head_dim, token, d), key[d]);
    store_kv(type, value_block, value_index(head_dim, token, d), value[d]);
  }
}

}  // namespace cascade
