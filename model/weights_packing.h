// From tensors in mapped files to packed matrices and the digest, with little memory on the way.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/load_progress.h"
#include "base/result.h"
#include "kernels/packed_matrix.h"
#include "kernels/thread_pool.h"
#include "model/safetensors.h"

namespace cascade {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Tensor number `tensor`, [n, k], goes to the rows of a matrix from `channel_offset` on. A tensor
// has one job at most.
struct PackJob {
  size_t tensor = 0;
  int channel_offset = 0;
  PackedMatrix* matrix = nullptr;
};

// Reads elements [first, first + count) of a tensor, in the order of the file, as f32. They must be
// whole blocks.
void read_elements(const Tensor& tensor, size_t first, size_t count, float* out);

// SHA-256 over the names, types, shapes (and order of rows) and bytes of tensors: large ones in
// pieces, so that all threads hash. The pieces may be hashed in any order, from any thread.
class TensorDigest {
 public:
  static constexpr size_t kPieceBytes = size_t{8} << 20;

  // `tensors` must outlive this.
  explicit TensorDigest(std::span<const NamedTensor> tensors);
  void hash_piece(size_t tensor, size_t piece);
  // Precondition: every piece of every tensor was hashed.
  Digest finish() const;

 private:
  std::span<const NamedTensor> tensors_;
  std::vector<std::vector<Digest>> pieces_;  // [tensor][piece]
};

// Packs tensors as `jobs` say, and hashes all of `tensors`, reading them once from front to back.
// Memory that has been read is released, so the tensors take only some 32 MiB of memory. The
// matrices lie at `out` in the order of `jobs`, which is that of the tensors. `digest` may be
// nullptr. `progress`, unless null, expects the bytes of all tensors already, and advances by them.
// Errors: not_finite(), of the first tensor of a job that has such a value, or kUnsupported if all
// its values are finite, but its matrix cannot hold them; the packed bytes are of no use then.
[[nodiscard]] Status pack_tensors(std::span<const NamedTensor> tensors,
                                  std::span<const PackJob> jobs, TensorDigest* digest, uint8_t* out,
                                  ThreadPool& pool, LoadProgress* progress = nullptr);

// kDataCorrupt: a value of the tensor is infinite or a NaN. One such weight makes every logit
// infinite or a NaN; where activations are quantised, the result looks like any other answer.
Error not_finite(const std::string& tensor);

// Computes the digest alone. `progress`: as in pack_tensors().
Digest digest_tensors(std::span<const NamedTensor> tensors, ThreadPool& pool,
                      LoadProgress* progress = nullptr);

}  // namespace cascade
