// gemm: matrix products alone.
#include <algorithm>
#include <cstring>

#include "bench/speed/kernel_bench.h"
#include "bench/speed/libraries.h"
#include "bench/speed/machine.h"
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

// How the weights are stored.
struct Format {
  std::string name;
  WeightType type;
  bool block_scales;

  PackedMatrix describe(const Kernels& kernels, const Shape& shape) const {
    return describe_matrix(type, kernels.matrix_layout_of(type), shape.n, shape.k, block_scales);
  }
};

// Errors: those of weight_type_of.
Result<Format> format_of(const std::string& name) {
  if (name == "q8_0") return Format{name, WeightType::kInt8, true};
  if (name == "q4_0") return Format{name, WeightType::kInt4, true};
  ASSIGN_OR_RETURN(const WeightType type, weight_type_of(name, "--weights"));
  return Format{name, type, false};
}

// Several copies of one matrix, so that those in use do not fit the caches.
class Copies {
 public:
  // Errors: those of PackedMemory::allocate.
  static Result<Copies> make(const Setup& setup, const Format& format, const Shape& shape) {
    Copies copies;
    copies.w_ = format.describe(*setup.kernels, shape);
    const size_t bytes = copies.w_.bytes();
    for (size_t i = 0; i < copies_for(1, bytes); ++i) {
      ASSIGN_OR_RETURN(copies.memory_.emplace_back(), PackedMemory::allocate(bytes));
    }
    PackedMatrix w = copies[0];
    setup.pool->run(w.panels(), [&](int panel, int) {
      const int end = std::min(w.n, (panel + 1) * kPanelChannels);
      for (int n = panel * kPanelChannels; n < end; ++n) {
        set_row(w, n, random_floats(w.k, 2 + n).data());
      }
    });
    setup.pool->run(static_cast<int>(copies.memory_.size()) - 1,
                    [&](int i, int) { std::memcpy(copies.memory_[i + 1].data(), w.data, bytes); });
    return copies;
  }

  PackedMatrix operator[](size_t i) const {
    PackedMatrix w = w_;
    w.data = memory_[i].data();
    return w;
  }

 private:
  PackedMatrix w_;
  std::vector<PackedMemory> memory_;
};

// One product, run as the decoder does it: rows are quantised before, panels are divided between
// threads.
class Product {
 public:
  Product(const Setup& setup, const PackedMatrix& w, int rows)
      : setup_(setup),
        rows_(rows),
        x_(random_floats(static_cast<size_t>(rows) * w.k, 1)),
        y_(static_cast<size_t>(rows) * w.n_padded) {
    if (!w.quantized()) return;
    quantized_ = allocate_aligned(quantized_rows_bytes(rows, w.k));
    for (int row = 0; row < rows; ++row) {
      setup.kernels->quantize_row({&x_[static_cast<size_t>(row) * w.k], w.k, quantized_.get(), rows,
                                   row, is_k_quant(w.type), 0, w.groups()});
    }
    scratch_bytes_ = (quantized_gemm_scratch_bytes(w.k) + 63) / 64 * 64;
    scratch_ = allocate_aligned(scratch_bytes_ * setup.pool->threads());
  }

  void run(const PackedMatrix& w) {
    constexpr int kTasksPerThread = 4;
    const int tasks = setup_.pool->threads() * kTasksPerThread;
    const int panels = (w.panels() / tasks + 3) / 4 * 4;
    setup_.pool->run((w.panels() + panels - 1) / panels, [&](int task, int thread) {
      const int begin = task * panels, end = std::min(w.panels(), begin + panels);
      const size_t stride = w.n_padded;
      if (w.quantized()) {
        setup_.kernels->quantized_gemm({&w, quantized_.get(), y_.data(), stride, rows_, begin, end,
                                        scratch_.get() + thread * scratch_bytes_});
      } else {
        setup_.kernels->gemm(
            {&w, x_.data(), static_cast<size_t>(w.k), y_.data(), stride, rows_, begin, end});
      }
    });
  }

 private:
  const Setup& setup_;
  int rows_;
  std::vector<float> x_, y_;
  AlignedBytes quantized_, scratch_;
  size_t scratch_bytes_ = 0;
};

class GemmReport {
 public:
  GemmReport(const KernelOptions& options, const Setup& setup, OrderedJson head)
      : options_(options),
        setup_(setup),
        probe_(*setup.pool, setup.kernels->isa),
        report_(std::move(head)) {}

  Status add(const Format& format, const Shape& shape) {
    ASSIGN_OR_RETURN(Copies copies, Copies::make(setup_, format, shape));
    for (const int64_t rows : options_.rows) {
      // The LM head is skipped: nobody asks for the logits of a whole slice.
      if (shape.n > 100'000 && rows > 64) continue;
      add_ours(copies, format, shape, static_cast<int>(rows));
    }
    if (!options_.libraries || format.block_scales) return {};  // the libraries have no such scales
    // Makes room for the libraries' copies.
    copies = {};
    for (const int64_t rows : options_.rows) {
      if (shape.n > 100'000 && rows > 64) continue;
      add_theirs(format.type, shape, static_cast<int>(rows));
    }
    return {};
  }

  Status print() const { return speed::print(report_, options_.common); }

 private:
  static OrderedJson row_of(const Shape& shape, const std::string& weights, int rows) {
    return {{"matrix", shape.name},
            {"weights", weights},
            {"n", shape.n},
            {"k", shape.k},
            {"rows", rows}};
  }

  void add_row(OrderedJson row, WeightType type, const Shape& shape, int rows, size_t copies,
               double bytes, const PairedSamples& samples) {
    const auto times = static_cast<double>(copies);
    const double ops = 2.0 * shape.n * shape.k * rows;
    const auto peak_ops = is_quantized(type) ? &Peak::int8_op_per_s : &Peak::f32_flop_per_s;
    add_kernel_row(report_, std::move(row), {ops * times, bytes * times, peak_ops}, samples);
  }

  void add_ours(const Copies& copies, const Format& format, const Shape& shape, int rows) {
    const PackedMatrix w = copies[0];
    const size_t count = copies_for(rows, w.bytes());
    Product product(setup_, w, rows);
    const PairedSamples samples = measure_kernel(probe_, options_.common.repeats, [&] {
      for (size_t i = 0; i < count; ++i) product.run(copies[i]);
    });
    // The layout of a library turns bf16 into f32.
    const std::string name = w.type == format.type ? format.name : std::string(to_string(w.type));
    add_row(row_of(shape, name, rows), w.type, shape, rows, count, static_cast<double>(w.bytes()),
            samples);
  }

  void add_theirs(WeightType type, const Shape& shape, int rows) {
    for (const Library& library : libraries_for(type)) {
      const double bytes = library.bytes_per_weight * shape.n * shape.k;
      const size_t count = copies_for(rows, static_cast<size_t>(bytes));
      const LibraryProduct product = {shape.n, shape.k, rows, static_cast<int>(count),
                                      setup_.pool->threads()};
      const PairedSamples samples = library.measure(product, [&](const auto& body) {
        return measure_kernel(probe_, options_.common.repeats, body);
      });
      add_row(row_of(shape, library.name, rows), type, shape, rows, count, bytes, samples);
    }
  }

  const KernelOptions& options_;
  const Setup& setup_;
  PeakProbe probe_;
  Report report_;
};

}  // namespace

Status gemm(const KernelOptions& options) {
  std::vector<Format> formats;
  for (const std::string& name : options.types) {
    ASSIGN_OR_RETURN(formats.emplace_back(), format_of(name));
  }
  // Both libraries have f32, so an empty list means that none is built in.
  if (options.libraries && libraries_for(WeightType::kF32).empty()) {
    return invalid_argument("--libraries",
                            "this build has none; configure it with -DCASCADE_BENCH_LIBRARIES=ON");
  }
  ASSIGN_OR_RETURN(const Setup setup, set_up(options.common));
  size_t largest = kCopiesBytes;
  for (const Format& format : formats) {
    for (const Shape& shape : kShapes) {
      largest = std::max(largest, format.describe(*setup.kernels, shape).bytes());
    }
  }
  const size_t read_bytes = kPeakReadBytes * setup.pool->threads();
  RETURN_IF_ERROR(fits_memory(static_cast<double>(largest + read_bytes), "--weights",
                              "the largest matrix, with what measuring takes,"));
  OrderedJson head = header("gemm", setup);
  add_peak(head, setup);
  GemmReport report(options, setup, std::move(head));
  // The formats of a shape are measured one after another, so that a shared machine's other load is
  // the same for all.
  for (const Shape& shape : kShapes) {
    for (const Format& format : formats) RETURN_IF_ERROR(report.add(format, shape));
  }
  return report.print();
}

}  // namespace cascade::speed
