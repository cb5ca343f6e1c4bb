// The specification of a query as int8.
#pragma once

#include <vector>

namespace cascade::scalar {

// query = q * scale, q in [-127, 127]: the scale is the largest magnitude / 127. A query without a
// magnitude over kQuantizedMin is all 0.
struct QuantizedQuery {
  std::vector<int> q;
  float scale = 0;

  QuantizedQuery(const float* query, int head_dim);
};

}  // namespace cascade::scalar
