// The index of a page whose keys a test writes.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/kv_format.h"
#include "kernels/page_index.h"
#include "tests/kernels/isas.h"

namespace cascade::testing {

// `keys` are 64.
inline GuardedBytes index_of(KvType type, int head_dim, const std::vector<GuardedFloats>& keys) {
  GuardedBytes block(key_block_bytes(type, head_dim), 0, 64);
  GuardedBytes value_block(value_block_bytes(type, head_dim), 0, 64);
  for (int key = 0; key < kKvBlockTokens; ++key) {
    scalar().write_kv(type, head_dim, key, keys[key].data(), keys[key].data(), block.data(),
                      value_block.data());
  }
  GuardedFloats scratch(index_page_scratch_floats(head_dim), NAN);
  GuardedBytes index(page_index_bytes(head_dim), 0xAA);
  index_page(type, head_dim, block.data(), scratch.data(), index.data());
  return index;
}

}  // namespace cascade::testing
