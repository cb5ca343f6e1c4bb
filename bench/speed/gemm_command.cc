// gemm: matrix products alone.
#include <algorithm>
#include <memory>

#include "bench/speed/kernel_bench.h"
#include "bench/speed/libraries.h"
#include "kernels/quantized_rows.h"
#include "model/packed_memory.h"

namespace cascade::speed {
namespace {

// The matrices of one decoder layer of Qwen3-0.6B, and its LM head.
struct Shape {
  const char* name;
  int n, k;
};
constexpr Shape kShapes[] = {{"qkv", 4096, 1024},
                             {"output", 1024, 2048},
                             {"gate_up", 6144, 1024},
                             {"down", 1024, 3072},
                             {"head", 151936, 1024}};

// One product, as the decoder runs it: rows quantised before, panels shared out.
class Product {
 public:
  Product(const Setup& setup, WeightType type, const Shape& shape, int rows, PackedMemory memory)
      : setup_(setup),
        rows_(rows),
        memory_(std::move(memory)),
        w_(describe_matrix(type, setup.kernels->matrix_layout_of(type), shape.n, shape.k)),
        x_(random_floats(static_cast<size_t>(rows) * shape.k, 1)),
        y_(static_cast<size_t>(rows) * w_.n_padded) {
    w_.data = memory_.data();
    setup_.pool->run(w_.panels(), [&](int panel, int) {
      const int end = std::min(w_.n, (panel + 1) * kPanelChannels);
      for (int n = panel * kPanelChannels; n < end; ++n) {
        set_row(w_, n, random_floats(w_.k, 2 + n).data());
      }
    });
    if (!w_.quantized()) return;
    quantized_ = allocate_aligned(quantized_rows_bytes(rows, w_.k));
    for (int row = 0; row < rows; ++row) {
      setup.kernels->quantize_row(&x_[static_cast<size_t>(row) * w_.k], w_.k, quantized_.get(),
                                  rows, row);
    }
    scratch_bytes_ = (quantized_gemm_scratch_bytes(w_.k) + 63) / 64 * 64;
    scratch_ = allocate_aligned(scratch_bytes_ * setup.pool->threads());
  }

  void run() {
    constexpr int kTasksPerThread = 4;
    const int tasks = setup_.pool->threads() * kTasksPerThread;
    const int panels = (w_.panels() / tasks + 3) / 4 * 4;
    setup_.pool->run((w_.panels() + panels - 1) / panels, [&](int task, int thread) {
      const int begin = task * panels, end = std::min(w_.panels(), begin + panels);
      const size_t stride = w_.n_padded;
      if (w_.quantized()) {
        setup_.kernels->quantized_gemm({&w_, quantized_.get(), y_.data(), stride, rows_, begin, end,
                                        scratch_.get() + thread * scratch_bytes_});
      } else {
        setup_.kernels->gemm(
            {&w_, x_.data(), static_cast<size_t>(w_.k), y_.data(), stride, rows_, begin, end});
      }
    });
  }

 private:
  const Setup& setup_;
  int rows_;
  PackedMemory memory_;
  PackedMatrix w_;
  std::vector<float> x_, y_;
  AlignedBytes quantized_, scratch_;
  size_t scratch_bytes_ = 0;
};

// Matrices that fit the caches would be read from there: several copies, in turn, do not.
constexpr size_t kCopiesBytes = size_t{512} << 20;

Status add_gemm_rows(Report& report, const Setup& setup, const Peak& peak, WeightType type,
                     const Shape& shape, int rows, const KernelOptions& options) {
  const PackedMatrix w =
      describe_matrix(type, setup.kernels->matrix_layout_of(type), shape.n, shape.k);
  const double ops = 2.0 * shape.n * shape.k * rows;
  // Few rows are bound by reading, and must not find the matrix in a cache.
  const bool few = rows <= 16;
  const size_t copies = few ? std::max<size_t>(1, kCopiesBytes / w.bytes()) : 1;
  std::vector<std::unique_ptr<Product>> products;
  for (size_t i = 0; i < copies; ++i) {
    ASSIGN_OR_RETURN(PackedMemory memory, PackedMemory::allocate(w.bytes()));
    products.push_back(std::make_unique<Product>(setup, type, shape, rows, std::move(memory)));
  }
  const Samples samples = measure(options.common.repeats, kSecondsMin, [&] {
    for (const auto& product : products) product->run();
  });
  OrderedJson row = {{"matrix", shape.name},
                     {"weights", std::string(to_string(type))},
                     {"n", shape.n},
                     {"k", shape.k},
                     {"rows", rows}};
  const double peak_ops = w.quantized() ? peak.int8_op_per_s : peak.f32_flop_per_s;
  const auto bytes = static_cast<double>(w.bytes());
  add_kernel_row(report, row, ops * static_cast<double>(copies),
                 bytes * static_cast<double>(copies), peak_ops, peak, samples);
  if (!options.libraries) return {};
  products.clear();
  const LibraryProduct product = {shape.n, shape.k, rows, static_cast<int>(copies),
                                  setup.pool->threads()};
  for (const Library& library : libraries_for(type)) {
    row["weights"] = library.name;
    const Samples theirs = library.measure(product, options.common.repeats, kSecondsMin);
    const double bytes_theirs = library.bytes_per_weight * shape.n * shape.k;
    add_kernel_row(report, row, ops * static_cast<double>(copies),
                   bytes_theirs * static_cast<double>(copies), peak_ops, peak, theirs);
  }
  return {};
}

}  // namespace

Status gemm(const KernelOptions& options) {
  std::vector<WeightType> types;
  for (const std::string& name : options.types) {
    ASSIGN_OR_RETURN(types.emplace_back(), weight_type_of(name, "--weights"));
  }
  ASSIGN_OR_RETURN(const Setup setup, set_up(options.common));
  OrderedJson head = header("gemm", setup);
  const Peak peak = add_peak(head, setup);
  Report report(std::move(head));
  for (const WeightType type : types) {
    for (const Shape& shape : kShapes) {
      for (const int64_t rows : options.rows) {
        // Nobody asks for the logits of a whole slice.
        if (shape.n > 100'000 && rows > 64) continue;
        RETURN_IF_ERROR(
            add_gemm_rows(report, setup, peak, type, shape, static_cast<int>(rows), options));
      }
    }
  }
  return print(report, options.common);
}

}  // namespace cascade::speed
