// The scalar table: the specification that every instruction set is compared with.
#include "kernels/scalar/attention.h"
#include "kernels/scalar/elementwise.h"
#include "kernels/scalar/gemm.h"
#include "kernels/scalar/page_choice.h"
#include "kernels/scalar/quantized.h"
#include "kernels/scalar/recurrence.h"
#include "kernels/table.h"
#include "kernels/write_kv.h"

namespace cascade {

const Kernels& scalar_kernels() {
  static constexpr Kernels kTable = {
      .isa = Isa::kScalar,
      .matrix_layout = MatrixLayout::kPanels16,
      .gemm = scalar::gemm,
      .quantized_gemm = scalar::quantized_gemm,
      .quantize_row = scalar::quantize_row,
      .rms_norm = scalar::rms_norm,
      .rope = scalar::rope,
      .silu_mul = scalar::silu_mul,
      .gelu_tanh_mul = scalar::gelu_tanh_mul,
      .clamped_swiglu = scalar::clamped_swiglu,
      .sigmoid_mul = scalar::sigmoid_mul,
      .add = scalar::add,
      .add_scaled = scalar::add_scaled,
      .multiply_rows = scalar::multiply_rows,
      .multiply = scalar::multiply,
      .soft_cap = scalar::soft_cap,
      .write_kv = write_kv,
      .attention = scalar::attention,
      .choose_pages = scalar::choose_pages,
      .convolve = scalar::convolve,
      .scan = scalar::scan,
      .log_sum_exp = scalar::log_sum_exp,
  };
  return kTable;
}

}  // namespace cascade
