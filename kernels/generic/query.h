// A query as int8, for any vector type V16 and dot product D; scalar/query.cc is the specification.
#pragma once

#include "kernels/generic/elementwise.h"
#include "kernels/quantized_rows.h"

namespace cascade::generic {

struct QuantizedQuery {
  float scale;  // query = q * scale
  int sum;      // of q
};

// Writes q, in [-127, 127], to `to`, which has head_dim rounded up to 16 bytes.
template <class V, class D>
[[gnu::always_inline]] inline QuantizedQuery quantize_query(const float* query, int head_dim,
                                                            int8_t* to) {
  V magnitude = V::zero();
  for_lanes(head_dim, [&](int i, int count) {
    magnitude = V::max(V::load_partial(query + i, count).magnitude(), magnitude);
  });
  const float largest = magnitude.largest();
  const bool zero = !(largest > kQuantizedMin);
  const V inverse = V::set1(zero ? 0.0f : 127.0f / largest);
  int sum = 0;
  for_lanes(head_dim, [&](int i, int count) {
    const V scaled = V::load_partial(query + i, count) * inverse;
    const auto whole = D::Int::rounded(V::min(V::max(scaled, V::set1(-127.0f)), V::set1(127.0f)));
    whole.store_int8(to + i);
    sum += whole.sum();
  });
  return {zero ? 0.0f : largest / 127.0f, sum};
}

}  // namespace cascade::generic
