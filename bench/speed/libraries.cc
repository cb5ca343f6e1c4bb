// OpenBLAS for f32 and oneDNN for int8, each called as its users call it: weights are prepared
// once, and rows are quantised before.
#include "bench/speed/libraries.h"

#ifdef CASCADE_BENCH_LIBRARIES
#include <cblas.h>
#include <omp.h>
#include <dnnl.hpp>
#endif

namespace cascade::speed {

#ifdef CASCADE_BENCH_LIBRARIES
namespace {

PairedSamples measure_openblas(const LibraryProduct& product, const MeasureBody& measure) {
  openblas_set_num_threads(product.threads);
  const auto [n, k, rows, copies, threads] = product;
  const std::vector<float> x(static_cast<size_t>(rows) * k, 0.5f);
  const std::vector<std::vector<float>> w(copies,
                                          std::vector<float>(static_cast<size_t>(n) * k, 0.25f));
  std::vector<float> y(static_cast<size_t>(rows) * n);
  return measure([&] {
    for (const auto& matrix : w) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, n, k, 1.0f, x.data(), k,
                  matrix.data(), k, 0.0f, y.data(), n);
    }
  });
}

// s8 rows and s8 weights in the library's own layout, with one scale for each output channel.
PairedSamples measure_onednn(const LibraryProduct& product, const MeasureBody& measure) {
  using dnnl::memory;
  omp_set_num_threads(product.threads);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto type = memory::data_type::s8;
  const memory::desc x_desc({product.rows, product.k}, type, memory::format_tag::ab);
  const memory::desc w_desc({product.k, product.n}, type, memory::format_tag::any);
  const memory::desc y_desc({product.rows, product.n}, memory::data_type::f32,
                            memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_output_scales(1 << 1, std::vector<float>(product.n, 0.01f));
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(x_desc, w_desc, y_desc),
                                                 attributes, engine);
  dnnl::matmul matmul(description);
  memory x(x_desc, engine), y(y_desc, engine);
  std::fill_n(static_cast<int8_t*>(x.get_data_handle()), x_desc.get_size(), int8_t{3});
  std::vector<memory> w;
  for (int i = 0; i < product.copies; ++i) {
    w.emplace_back(description.weights_desc(), engine);
    std::fill_n(static_cast<int8_t*>(w.back().get_data_handle()),
                description.weights_desc().get_size(), int8_t{5});
  }
  return measure([&] {
    for (const memory& matrix : w) {
      matmul.execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, matrix}, {DNNL_ARG_DST, y}});
    }
    stream.wait();
  });
}

}  // namespace

std::vector<Library> libraries_for(WeightType type) {
  // OpenBLAS chooses its kernels when it is loaded; OPENBLAS_CORETYPE says which.
  if (type == WeightType::kF32) {
    return {{std::string("OpenBLAS f32 ") + openblas_get_corename(), 4.0, measure_openblas}};
  }
  if (type == WeightType::kInt8) return {{"oneDNN int8", 1.0, measure_onednn}};
  return {};
}

#else

std::vector<Library> libraries_for(WeightType) {
  return {};
}

#endif

}  // namespace cascade::speed
