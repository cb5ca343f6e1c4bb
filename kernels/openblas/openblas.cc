// OpenBLAS as the matrix product, called with fixed shapes only. A BLAS chooses its order of
// summation by shape, so every call multiplies the same number of rows (missing rows are zero) by
// the same block of channels, whatever the caller asked for.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/table.h"

namespace cascade {
namespace {

// The number of rows of every call: small, since a decode step pays for all of them.
constexpr int kRows = 8;
// The number of channels of every call except the last of a matrix: whole panels, and large enough
// to amortise the call.
constexpr int kChannels = 64;

// cblas_sgemm of the standard CBLAS interface.
enum CblasOrder { kCblasRowMajor = 101 };
enum CblasTranspose { kCblasNoTrans = 111, kCblasTrans = 112 };
using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);

Sgemm sgemm = nullptr;

void gemm(const GemmArgs& args) {
  const int k = args.w->k;
  const auto* weights = reinterpret_cast<const float*>(args.w->data);
  std::vector<float> x(static_cast<size_t>(kRows) * k);
  float y[kRows * kChannels];
  const int channel_begin = args.panel_begin * kPanelChannels;
  const int channel_end = args.panel_end * kPanelChannels;
  for (int row = 0; row < args.rows; row += kRows) {
    const int rows = std::min(kRows, args.rows - row);
    std::fill(x.begin(), x.end(), 0.0f);
    for (int r = 0; r < rows; ++r) {
      std::copy_n(args.x + (row + r) * args.x_stride, k, x.data() + static_cast<size_t>(r) * k);
    }
    // Blocks lie at absolute multiples, so that a thread's range does not move their borders.
    for (int block = channel_begin / kChannels * kChannels; block < channel_end;
         block += kChannels) {
      const int width = std::min(kChannels, args.w->n_padded - block);
      sgemm(kCblasRowMajor, kCblasNoTrans, kCblasTrans, kRows, width, k, 1.0f, x.data(), k,
            weights + static_cast<size_t>(block) * k, k, 0.0f, y, kChannels);
      const int from = std::max(block, channel_begin), to = std::min(block + width, channel_end);
      for (int r = 0; r < rows; ++r) {
        std::copy(y + r * kChannels + (from - block), y + r * kChannels + (to - block),
                  args.y + (row + r) * args.y_stride + from);
      }
    }
  }
}

Sgemm load_sgemm() {
  // The library must be told the CPU type before it loads. A type that the user has set stays.
  if (const char* core = openblas_core_type()) {
    ::setenv("OPENBLAS_CORETYPE", core, /*overwrite=*/0);
  }
  ::setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/1);  // our pool is the only one
  void* library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<Sgemm>(::dlsym(library, "cblas_sgemm"));
}

}  // namespace

Result<const Kernels*> openblas_kernels(const Kernels& base) {
  static const Kernels table = [&base] {
    sgemm = load_sgemm();
    Kernels kernels = base;
    kernels.isa = Isa::kOpenblas;
    kernels.matrix_layout = MatrixLayout::kRowMajor;
    kernels.gemm = gemm;
    return kernels;
  }();
  if (sgemm == nullptr) {
    return unsupported("isa", "libopenblas.so.0 is not installed (package libopenblas0)");
  }
  return &table;
}

}  // namespace cascade
