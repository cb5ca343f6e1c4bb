// Goes over the tensors in windows: all threads work on one window, then its pages are released.
#include "model/weights_packing.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "base/file.h"
#include "kernels/mxfp4_matrix.h"
#include "model/gguf/dequantize.h"

namespace cascade {
namespace {

// The size of a window, in bytes of tensors. It is enough for four threads that hash (2 GB/s each)
// and any number that pack, and small compared to the memory that a service takes anyway.
constexpr size_t kWindowBytes = size_t{32} << 20;
static_assert(kWindowBytes % TensorDigest::kPieceBytes == 0);

size_t count_pieces(size_t bytes) {
  return (bytes + TensorDigest::kPieceBytes - 1) / TensorDigest::kPieceBytes;
}

// Bytes [begin, end) of a tensor: one piece.
struct Range {
  size_t tensor;
  size_t begin;
  size_t end;
};

// The work of one thread at a time.
struct Task {
  enum class What { kHash, kPack } what;
  size_t tensor;
  size_t index;        // of the piece that is hashed, or the panel that is packed
  const PackJob* job;  // kPack
  uint64_t offset;     // kPack: of the panel among the bytes of all matrices
};

// What a K-quant holds: it has f16 units, and the largest offset is 63 of them.
constexpr float kOffsetMax = 63 * 65504.0f;

// Whether a matrix of `type` can hold these values.
bool fit(WeightType type, std::span<const float> values) {
  if (is_k_quant(type)) return all_below(values, std::bit_cast<uint32_t>(kOffsetMax));
  return type == WeightType::kBf16 ? all_finite_in_bf16(values) : all_finite(values);
}

bool is_finite(const KQuantGroup& group) {
  return is_finite_f16(group.unit) && is_finite_f16(group.offset_unit);
}
bool is_finite(const WeightBlock& block) {
  return is_finite_f16(block.scale);
}

// Packs the rows of a panel, the first of which is row `begin` of the tensor, as they are in the
// file: `read` reads the `count` blocks or groups of a row. False if a weight is not finite.
template <class Block, class Read>
bool pack_as_it_is(const Tensor& tensor, const PackedMatrix& matrix, int begin, int rows,
                   size_t count, const Read& read, uint8_t* out) {
  bool finite = true;
  const auto read_rows = [&](int first, int some, Block* blocks) {
    for (int i = 0; i < some; ++i) {
      read(tensor.file_row(begin + first + i), count, blocks + size_t(i) * count);
    }
    finite &= std::ranges::all_of(std::span(blocks, size_t(some) * count),
                                  [](const Block& block) { return is_finite(block); });
  };
  pack_panel(matrix, rows, read_rows, out);
  return finite;
}

// Reads rows [first, first + count) of the matrix from a tensor that has its columns.
void read_columns(const Tensor& tensor, int first, int count, float* rows) {
  const auto n = static_cast<size_t>(tensor.shape[0]), k = static_cast<size_t>(tensor.shape[1]);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const size_t column = tensor.file_row(static_cast<size_t>(first) + i);
    for (size_t j = 0; j < k; ++j) read_elements(tensor, j * n + column, 1, rows + i * k + j);
  }
}

// False if the matrix cannot hold a value of the tensor.
bool pack_panel(const Tensor& tensor, const PackJob& job, size_t panel, uint8_t* out) {
  const PackedMatrix& matrix = *job.matrix;
  const int begin = static_cast<int>(panel) * kPanelChannels;
  const int rows = std::min(static_cast<int>(tensor.shape[0]) - begin, kPanelChannels);
  const auto k = static_cast<size_t>(matrix.k);
  const auto bytes_of_row = [&](size_t row) {
    return tensor.bytes.data() + bytes_of_values(tensor.type, uint64_t{row} * k);
  };
  const bool keeps = keeps_blocks(tensor.type, matrix.type);
  if (is_k_quant(matrix.type) && keeps) {
    const auto read = [&](size_t row, size_t count, KQuantGroup* groups) {
      read_k_quant_groups(tensor.type, bytes_of_row(row), count, groups);
    };
    return pack_as_it_is<KQuantGroup>(tensor, matrix, begin, rows, k / kGroup, read, out);
  }
  if (matrix.type == WeightType::kMxfp4 && keeps) {
    const auto read = [&](size_t row, size_t count, Mxfp4Block* blocks) {
      read_mxfp4_blocks(tensor, row * count, count, blocks);
    };
    return pack_as_it_is<Mxfp4Block>(tensor, matrix, begin, rows, k / kBlock, read, out);
  }
  if (matrix.block_scales) {
    const auto read = [&](size_t row, size_t count, WeightBlock* blocks) {
      read_weight_blocks(tensor.type, bytes_of_row(row), count, blocks);
    };
    return pack_as_it_is<WeightBlock>(tensor, matrix, begin, rows, k / kBlock, read, out);
  }
  bool finite = true;
  const auto read = [&](int first, int count, float* values) {
    if (tensor.transposed) {
      read_columns(tensor, begin + first, count, values);
    }
    for (int i = 0; i < count && !tensor.transposed; ++i) {
      read_elements(tensor, tensor.file_row(begin + first + i) * k, k, values + size_t(i) * k);
    }
    finite &= fit(matrix.type, std::span(values, size_t(count) * k));
  };
  pack_panel(matrix, rows, read, out);
  return finite;
}

class Packing {
 public:
  Packing(std::span<const NamedTensor> tensors, std::span<const PackJob> jobs, TensorDigest* digest,
          uint8_t* out, ThreadPool& pool, LoadProgress* progress)
      : tensors_(tensors),
        job_of_(tensors.size()),
        digest_(digest),
        out_(out),
        pool_(pool),
        progress_(progress) {
    for (const PackJob& job : jobs) job_of_[job.tensor] = &job;
  }

  // The job of the first tensor with a value that its matrix cannot hold; nullptr if there is none.
  const PackJob* run() {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const size_t bytes = tensors_[i].tensor.bytes.size();
      for (size_t begin = 0; begin < bytes; begin += TensorDigest::kPieceBytes) {
        const size_t end = std::min(bytes, begin + TensorDigest::kPieceBytes);
        add({i, begin, end});
        if (window_bytes_ >= kWindowBytes) work_off();
      }
    }
    work_off();
    return unfit_ < tensors_.size() ? job_of_[unfit_] : nullptr;
  }

 private:
  void add(const Range& range) {
    window_.push_back(range);
    window_bytes_ += range.end - range.begin;
    if (digest_ != nullptr) {
      const size_t piece = range.begin / TensorDigest::kPieceBytes;
      hashes_.push_back({Task::What::kHash, range.tensor, piece, nullptr, 0});
    }
    if (job_of_[range.tensor] != nullptr) add_panels(range);
  }

  // The panels that begin in the range.
  void add_panels(const Range& range) {
    const PackJob& job = *job_of_[range.tensor];
    const PackedMatrix& matrix = *job.matrix;
    const size_t panel_bytes = bytes_of_values(tensors_[range.tensor].tensor.type,
                                               uint64_t{kPanelChannels} * uint64_t(matrix.k));
    const auto first_from = [&](size_t at) { return (at + panel_bytes - 1) / panel_bytes; };
    size_t first = first_from(range.begin), end = first_from(range.end);
    if (tensors_[range.tensor].tensor.transposed) {
      // Every panel is spread over the whole tensor, so all of them come after its last range.
      end = range.end == tensors_[range.tensor].tensor.bytes.size() ? end : 0;
      first = 0;
    }
    for (size_t panel = first; panel < end; ++panel) {
      panels_.push_back({Task::What::kPack, range.tensor, panel, &job, packed_end_});
      packed_end_ += matrix.panel_bytes();
    }
  }

  // Does the tasks of the window, long ones first.
  void work_off() {
    std::vector<Task> tasks = std::move(hashes_);
    tasks.insert(tasks.end(), panels_.begin(), panels_.end());
    pool_.run(static_cast<int>(tasks.size()), [&](int index, int) {
      const Task& task = tasks[index];
      if (task.what == Task::What::kHash) digest_->hash_piece(task.tensor, task.index);
      if (task.what == Task::What::kPack &&
          !pack_panel(tensors_[task.tensor].tensor, *task.job, task.index, out_ + task.offset)) {
        found_unfit(task.tensor);
      }
    });
    for (const auto& [tensor, begin, end] : window_) {
      release_pages(tensors_[tensor].tensor.bytes.subspan(begin, end - begin));
    }
    if (progress_ != nullptr) progress_->advance(static_cast<int64_t>(window_bytes_));
    window_.clear();
    hashes_.clear();
    panels_.clear();
    window_bytes_ = 0;
  }

  // May be called from any thread.
  void found_unfit(size_t tensor) {
    size_t first = unfit_;
    while (tensor < first && !unfit_.compare_exchange_weak(first, tensor)) {
    }
  }

  std::span<const NamedTensor> tensors_;
  std::vector<const PackJob*> job_of_;  // [tensor]
  TensorDigest* digest_;
  uint8_t* out_;  // of all matrices
  ThreadPool& pool_;
  LoadProgress* const progress_;  // nullptr: nobody wants to know
  std::vector<Range> window_;
  size_t window_bytes_ = 0;
  std::vector<Task> hashes_, panels_;     // of the window
  uint64_t packed_end_ = 0;               // of the last panel, in the bytes of all matrices
  std::atomic<size_t> unfit_ = SIZE_MAX;  // the first tensor with values that do not fit
};

// The error of a tensor with values that its matrix cannot hold.
Error does_not_fit(const NamedTensor& named, const PackedMatrix& matrix) {
  const Tensor& tensor = named.tensor;
  std::vector<float> row(static_cast<size_t>(matrix.k));
  bool bf16_holds = true;
  for (size_t i = 0; i < static_cast<size_t>(tensor.shape[0]); ++i) {
    read_elements(tensor, i * row.size(), row.size(), row.data());
    if (!all_finite(row)) return not_finite(named.name);
    bf16_holds &= all_finite_in_bf16(row);
  }
  const std::string type(to_string(matrix.type));
  const char* limit = is_k_quant(matrix.type) ? "4126752" : "3.39e38";
  return unsupported(named.name, "has values of a magnitude of " + std::string(limit) +
                                     " or more, which " + type + " cannot hold: --weights " +
                                     (bf16_holds ? "bf16" : "f32") + ", int8 or int4 can");
}

}  // namespace

void read_elements(const Tensor& tensor, size_t first, size_t count, float* out) {
  if (count == 0) return;  // a tensor without elements has no bytes
  const uint8_t* from = tensor.bytes.data() + bytes_of_values(tensor.type, first);
  if (tensor.type == TensorType::kF32) {
    std::memcpy(out, from, count * sizeof(float));
    return;
  }
  const auto convert = [&](auto to_f32) {  // a loop for each type: the compiler uses vectors
    for (size_t i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, from + 2 * i, sizeof bits);
      out[i] = to_f32(bits);
    }
  };
  if (tensor.type == TensorType::kBf16) return convert([](uint16_t b) { return bf16_to_f32(b); });
  if (tensor.type == TensorType::kF16) return convert([](uint16_t b) { return f16_to_f32(b); });
  if (tensor.type == TensorType::kMxfp4Apart) {
    for (size_t i = 0; i < count; i += kBlock) {
      Mxfp4Block block;
      read_mxfp4_blocks(tensor, (first + i) / kBlock, 1, &block);
      mxfp4_values(block, out + i);
    }
    return;
  }
  dequantize_blocks(tensor.type, from, count, out);
}

TensorDigest::TensorDigest(std::span<const NamedTensor> tensors) : tensors_(tensors) {
  for (const NamedTensor& named : tensors) {
    pieces_.emplace_back(count_pieces(named.tensor.bytes.size()));
  }
}

void TensorDigest::hash_piece(size_t tensor, size_t piece) {
  const auto rest = tensors_[tensor].tensor.bytes.subspan(piece * kPieceBytes);
  pieces_[tensor][piece] =
      Hasher().field("bytes", rest.first(std::min(rest.size(), kPieceBytes))).finish();
}

Digest TensorDigest::finish() const {
  Hasher all;
  for (const auto& [name, tensor] : tensors_) {
    all.field("name", name).field("type", to_string(tensor.type));
    for (const int64_t dimension : tensor.shape) all.field("dim", uint64_t(dimension));
    if (tensor.interleaved_head_rows > 0) {
      all.field("interleaved rows", uint64_t(tensor.interleaved_head_rows));
    }
    if (tensor.interleaved_run > 1) {
      all.field("interleaved run", uint64_t(tensor.interleaved_run));
    }
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    for (const Digest& piece : pieces_[i]) all.field("tensor", uint64_t{i}).field("piece", piece);
  }
  return all.finish();
}

Error not_finite(const std::string& tensor) {
  return data_corrupt(tensor, "has values that are infinite or not numbers: its file is damaged");
}

Status pack_tensors(std::span<const NamedTensor> tensors, std::span<const PackJob> jobs,
                    TensorDigest* digest, uint8_t* out, ThreadPool& pool, LoadProgress* progress) {
  const PackJob* unfit = Packing(tensors, jobs, digest, out, pool, progress).run();
  if (unfit != nullptr) return does_not_fit(tensors[unfit->tensor], *unfit->matrix);
  return {};
}

Digest digest_tensors(std::span<const NamedTensor> tensors, ThreadPool& pool,
                      LoadProgress* progress) {
  TensorDigest digest(tensors);
  Packing(tensors, {}, &digest, nullptr, pool, progress).run();
  return digest.finish();
}

}  // namespace cascade
