// Products of rows of activations with packed weights, shared out to the threads of a pool.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/quantized_rows.h"
#include "kernels/thread_pool.h"
#include "model/row_parts.h"
#include "model/weights.h"

namespace cascade {

// y = w * x + w.bias, for `rows` rows.
struct Product {
  const StackedMatrix* w;
  const float* x;  // [rows, w->k()], rows x_stride apart
  size_t x_stride;
  int rows;
  uint8_t* quantized;  // the same rows, for the matrices of `w` that need them quantised:
                       // quantized_rows_bytes(rows, w->k()) bytes
  float* y;            // [rows, w->n_padded()], rows y_stride apart
  size_t y_stride;
  // Row r of the input is row from[r] of x, in order if nullptr. Only where all matrices of `w` are
  // quantised.
  const int32_t* from = nullptr;

  const float* row(int r) const { return x + size_t(from == nullptr ? r : from[r]) * x_stride; }
};

// The bits of a row of a product depend on no other row, and not on threads. One call at a time.
class MatrixMultiplier {
 public:
  // `k_max`: the largest k of the quantised matrices; 0: there are none. `kernels` and `pool` must
  // outlive this.
  MatrixMultiplier(const Kernels& kernels, ThreadPool& pool, int k_max);

  // Sets the input of products: calls prepare(product, row, begin, end), which may write these
  // channels of row `row` of the input of products[product], and then quantises them where a matrix
  // needs that. The parts make up all channels of all rows. Products must not share quantised rows.
  template <class Prepare>
  void set_inputs(std::span<const Product> products, const Prepare& prepare);

  void multiply(std::span<const Product> products);

  // y = w * x for the panels [panel_begin, panel_end) of one matrix, on the calling thread, which
  // has number `thread`. `quantized` are the rows if w is quantised; else `x` are.
  void multiply_panels(const PackedMatrix& w, const float* x, size_t x_stride,
                       const uint8_t* quantized, int rows, float* y, size_t y_stride,
                       int panel_begin, int panel_end, int thread);

 private:
  // Panels [begin, end) of a product, or a part of the rows of its input.
  struct Task {
    const Product* product;
    int begin;
    int end;
  };
  void run_task(const Task& task, int thread);

  const Kernels& kernels_;
  ThreadPool& pool_;
  std::vector<Task> tasks_;
  AlignedBytes expanded_;      // [threads]: scratch of quantised products
  size_t expanded_bytes_ = 0;  // of one thread
};

template <class Prepare>
void MatrixMultiplier::set_inputs(std::span<const Product> products, const Prepare& prepare) {
  tasks_.clear();
  for (const Product& product : products) {
    const int tasks = RowParts(product.rows, product.w->k(), pool_.threads()).tasks();
    for (int task = 0; task < tasks; ++task) tasks_.push_back({&product, task, task + 1});
  }
  pool_.run(static_cast<int>(tasks_.size()), [&](int index, int) {
    const auto& [product, task, end] = tasks_[static_cast<size_t>(index)];
    const StackedMatrix& w = *product->w;
    const RowParts::Part part = RowParts(product->rows, w.k(), pool_.threads()).part(task);
    for (int row = part.row_begin; row < part.row_end; ++row) {
      prepare(static_cast<int>(product - products.data()), row, part.begin, part.end);
      if (!w.quantized()) continue;
      kernels_.quantize_row({product->row(row), w.k(), product->quantized, product->rows, row,
                             w.has_k_quants(), part.begin / kGroup, row_groups(part.end)});
    }
  });
}

}  // namespace cascade
