// Tasks are ranges of panels of about the same work, so that threads finish at similar times.
#include "model/matrix_multiplier.h"

#include <algorithm>

#include "base/checked.h"

namespace cascade {
namespace {

// Tasks of each thread. With several, the threads finish at similar times.
constexpr int kTasksEach = 4;
// Whole register tiles keep kernels efficient.
constexpr int kPanelStep = 4;

}  // namespace

MatrixMultiplier::MatrixMultiplier(const Kernels& kernels, ThreadPool& pool, int k_max)
    : kernels_(kernels), pool_(pool) {
  if (k_max == 0) return;
  expanded_bytes_ = round_up(quantized_gemm_scratch_bytes(k_max), size_t{64});
  expanded_ = allocate_aligned(expanded_bytes_ * size_t(pool.threads()));
}

void MatrixMultiplier::multiply_panels(const PackedMatrix& w, const float* x, size_t x_stride,
                                       const uint8_t* quantized, int rows, float* y,
                                       size_t y_stride, int panel_begin, int panel_end,
                                       int thread) {
  if (w.quantized()) {
    kernels_.quantized_gemm({&w, quantized, y, y_stride, rows, panel_begin, panel_end,
                             expanded_.get() + size_t(thread) * expanded_bytes_});
  } else {
    kernels_.gemm({&w, x, x_stride, y, y_stride, rows, panel_begin, panel_end});
  }
}

void MatrixMultiplier::multiply(std::span<const Product> products) {
  int64_t work = 0;  // panels, once for each row
  for (const Product& product : products) work += int64_t{product.rows} * product.w->panels();
  const int64_t share = work / (int64_t{pool_.threads()} * kTasksEach);
  tasks_.clear();
  for (const Product& product : products) {
    if (product.rows == 0) continue;
    const int panels = product.w->panels();
    const auto of_share = static_cast<int>(std::min<int64_t>(share / product.rows, panels));
    const int each = std::max(kPanelStep, round_up(of_share, kPanelStep));
    for (int begin = 0; begin < panels; begin += each) {
      tasks_.push_back({&product, begin, std::min(panels, begin + each)});
    }
  }
  pool_.run(static_cast<int>(tasks_.size()),
            [&](int index, int thread) { run_task(tasks_[static_cast<size_t>(index)], thread); });
}

void MatrixMultiplier::run_task(const Task& task, int thread) {
  const Product& product = *task.product;
  const StackedMatrix& w = *product.w;
  int first = 0;  // panel of a matrix
  for (const PackedMatrix& matrix : w.matrices) {
    const int from = std::max(task.begin - first, 0);
    const int to = std::min(task.end - first, matrix.panels());
    if (from < to) {
      multiply_panels(matrix, product.x, product.x_stride, product.quantized, product.rows,
                      product.y + size_t(first) * kPanelChannels, product.y_stride, from, to,
                      thread);
    }
    first += matrix.panels();
  }
  if (w.bias.empty()) return;
  const int offset = task.begin * kPanelChannels;
  const int count = (task.end - task.begin) * kPanelChannels;
  for (int row = 0; row < product.rows; ++row) {
    kernels_.add(product.y + size_t(row) * product.y_stride + offset, w.bias.data() + offset,
                 count);
  }
}

}  // namespace cascade
