// Reads and writes row by row: matrices may be stacked in different ways.
#include "bench/eval/weight_values.h"

#include <vector>

#include "base/check.h"

namespace cascade::eval {
namespace {

void copy_matrix(const PackedMatrix& from, PackedMatrix to, int first_channel) {
  CHECK(from.k == to.k && first_channel + from.n <= to.n_padded);
  std::vector<float> row(static_cast<size_t>(from.k));
  for (int channel = 0; channel < from.n; ++channel) {
    get_row(from, channel, row.data());
    if (first_channel + channel < to.n) set_row(to, first_channel + channel, row.data());
  }
}

// `to` has one type, so it is one matrix.
void copy_stack(const StackedMatrix& from, const StackedMatrix& to) {
  CHECK(to.matrices.size() == 1 && from.n_padded() == to.n_padded());
  int first_channel = 0;
  for (const PackedMatrix& matrix : from.matrices) {
    copy_matrix(matrix, to.matrices.front(), first_channel);
    first_channel += matrix.n_padded;
  }
}

}  // namespace

void copy_values(const Weights& from, Weights& to) {
  CHECK(from.layers.size() == to.layers.size());
  copy_matrix(from.embedding, to.embedding, 0);
  if (from.head.data != nullptr) copy_matrix(from.head, to.head, 0);
  for (size_t i = 0; i < from.layers.size(); ++i) {
    const auto a = from.layers[i].stacks(), b = to.layers[i].stacks();
    CHECK(a.size() == b.size());
    for (size_t stack = 0; stack < a.size(); ++stack) copy_stack(*a[stack], *b[stack]);
  }
}

}  // namespace cascade::eval
