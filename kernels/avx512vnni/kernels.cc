// The generic kernels that multiply integers, instantiated with AVX-512 vectors and VNNI dot
// products. The other kernels are those of plain AVX-512.
#include "kernels/avx512/v16.h"
#include "kernels/avx512vnni/vnni_dot.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/page_choice.h"
#include "kernels/generic/quantized.h"
#include "kernels/generic/write_kv.h"
#include "kernels/table.h"

namespace cascade {

const Kernels& avx512vnni_kernels() {
  using V = avx512::V16;
  using D = avx512vnni::VnniDot;
  static const Kernels kTable = [] {
    Kernels table = avx512_kernels();
    table.isa = Isa::kAvx512Vnni;
    table.quantized_gemm = generic::quantized_gemm<V, D>;
    table.quantize_row = generic::quantize_row<V, D>;
    table.write_kv = generic::write_kv<V, D>;
    table.attention = generic::attention<V, D>;
    table.choose_pages = generic::choose_pages<V, D>;
    return table;
  }();
  return kTable;
}

}  // namespace cascade
