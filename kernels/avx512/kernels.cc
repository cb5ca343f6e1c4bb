// The generic kernels, instantiated with AVX512 vectors.
#include "kernels/avx512/i16.h"
#include "kernels/avx512/v16.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/elementwise.h"
#include "kernels/generic/gemm.h"
#include "kernels/generic/page_choice.h"
#include "kernels/generic/quantized.h"
#include "kernels/generic/recurrence.h"
#include "kernels/generic/write_kv.h"
#include "kernels/table.h"

namespace cascade {

const Kernels& avx512_kernels() {
  using V = avx512::V16;
  using D = avx512::PairDot;
  static constexpr Kernels kTable = {
      .isa = Isa::kAvx512,
      .matrix_layout = MatrixLayout::kPanels16,
      .gemm = generic::gemm<V>,
      .quantized_gemm = generic::quantized_gemm<V, D>,
      .quantize_row = generic::quantize_row<V, D>,
      .rms_norm = generic::rms_norm<V>,
      .rope = generic::rope<V>,
      .silu_mul = generic::silu_mul<V>,
      .gelu_tanh_mul = generic::gelu_tanh_mul<V>,
      .clamped_swiglu = generic::clamped_swiglu<V>,
      .sigmoid_mul = generic::sigmoid_mul<V>,
      .add = generic::add<V>,
      .add_scaled = generic::add_scaled<V>,
      .multiply_rows = generic::multiply_rows<V>,
      .multiply = generic::multiply<V>,
      .soft_cap = generic::soft_cap_row<V>,
      .write_kv = generic::write_kv<V, D>,
      .attention = generic::attention<V, D>,
      .choose_pages = generic::choose_pages<V, D>,
      .convolve = generic::convolve<V>,
      .scan = generic::scan<V>,
      .log_sum_exp = generic::log_sum_exp<V>,
  };
  return kTable;
}

}  // namespace cascade
