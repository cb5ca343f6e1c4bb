// A query as int8, in plain loops.
#include "kernels/scalar/query.h"

#include <algorithm>
#include <cmath>

#include "kernels/quantized_rows.h"

namespace cascade::scalar {

QuantizedQuery::QuantizedQuery(const float* query, int head_dim) : q(head_dim) {
  float largest = 0;
  for (int d = 0; d < head_dim; ++d) largest = std::max(largest, std::fabs(query[d]));
  if (!(largest > kQuantizedMin)) return;
  scale = largest / 127.0f;
  const float inverse = 127.0f / largest;
  for (int d = 0; d < head_dim; ++d) {
    const float low = query[d] * inverse > -127.0f ? query[d] * inverse : -127.0f;
    q[d] = static_cast<int>(std::nearbyint(low < 127.0f ? low : 127.0f));
  }
}

}  // namespace cascade::scalar
