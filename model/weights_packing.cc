// Windows over the tensors: all threads work on one, then its pages are released.
#include "model/weights_packing.h"

#include <algorithm>
#include <cstring>

#include "base/file.h"

namespace cascade {
namespace {

// Enough for four threads that hash (2 GB/s each) and any number that pack; little beside the
// memory that a service takes anyway.
constexpr size_t kWindowBytes = size_t{32} << 20;
static_assert(kWindowBytes % TensorDigest::kPieceBytes == 0);

size_t count_pieces(size_t bytes) {
  return (bytes + TensorDigest::kPieceBytes - 1) / TensorDigest::kPieceBytes;
}

// Bytes [begin, end) of a tensor; begin at a piece.
struct Range {
  size_t tensor;
  size_t begin;
  size_t end;
};

// What one thread does at a time: piece `index` of a tensor's bytes, or panel `index` of its
// channels.
struct Task {
  size_t tensor;
  size_t index;
  const PackJob* job;  // nullptr: hash
};

void pack_panel(const Tensor& tensor, const PackJob& job, size_t panel) {
  const int k = job.matrix->k;
  std::vector<float> row(k);
  const int begin = static_cast<int>(panel) * kPanelChannels;
  const int end = std::min(static_cast<int>(tensor.shape[0]), begin + kPanelChannels);
  for (int channel = begin; channel < end; ++channel) {
    read_elements(tensor, size_t(channel) * k, k, row.data());
    set_row(*job.matrix, job.channel_offset + channel, row.data());
  }
}

// Appends the panels that begin in the range.
void add_panels(const Tensor& tensor, const PackJob& job, const Range& range,
                std::vector<Task>& tasks) {
  const size_t panel_bytes = kPanelChannels * job.matrix->k * tensor_type_bytes(tensor.type);
  const auto first_from = [&](size_t at) { return (at + panel_bytes - 1) / panel_bytes; };
  for (size_t panel = first_from(range.begin); panel < first_from(range.end); ++panel) {
    tasks.push_back({range.tensor, panel, &job});
  }
}

}  // namespace

void read_elements(const Tensor& tensor, size_t first, size_t count, float* out) {
  const uint8_t* from = tensor.bytes.data() + first * tensor_type_bytes(tensor.type);
  if (tensor.type == TensorType::kF32) {
    std::memcpy(out, from, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, sizeof bits);
    out[i] = tensor.type == TensorType::kBf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
  }
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
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    for (const Digest& piece : pieces_[i]) all.field("tensor", uint64_t{i}).field("piece", piece);
  }
  return all.finish();
}

void pack_tensors(std::span<const NamedTensor> tensors, std::span<const PackJob> jobs,
                  TensorDigest* digest, ThreadPool& pool) {
  std::vector<const PackJob*> job_of(tensors.size());
  for (const PackJob& job : jobs) job_of[job.tensor] = &job;
  std::vector<Range> window;
  size_t window_bytes = 0;
  const auto work_off = [&] {
    std::vector<Task> tasks;  // those of hashing first: they take longer
    for (const Range& range : window) {
      if (digest == nullptr) break;
      const size_t end = count_pieces(range.end);
      for (size_t piece = range.begin / TensorDigest::kPieceBytes; piece < end; ++piece) {
        tasks.push_back({range.tensor, piece, nullptr});
      }
    }
    for (const Range& range : window) {
      const PackJob* job = job_of[range.tensor];
      if (job != nullptr) add_panels(tensors[range.tensor].tensor, *job, range, tasks);
    }
    pool.run(static_cast<int>(tasks.size()), [&](int index, int) {
      const Task& task = tasks[index];
      if (task.job == nullptr) return digest->hash_piece(task.tensor, task.index);
      pack_panel(tensors[task.tensor].tensor, *task.job, task.index);
    });
    for (const auto& [tensor, begin, end] : window) {
      release_pages(tensors[tensor].tensor.bytes.subspan(begin, end - begin));
    }
    window.clear();
    window_bytes = 0;
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t bytes = tensors[i].tensor.bytes.size();
    for (size_t begin = 0; begin < bytes; begin += TensorDigest::kPieceBytes) {
      const size_t end = std::min(bytes, begin + TensorDigest::kPieceBytes);
      window.push_back({i, begin, end});
      window_bytes += end - begin;
      if (window_bytes >= kWindowBytes) work_off();
    }
  }
  work_off();
}

}  // namespace cascade
