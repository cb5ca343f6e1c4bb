// Which tensors of a model's files are read, and to which matrices they go.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/packed_file.h"
#include "model/safetensors.h"
#include "model/weight_choice.h"
#include "model/weights.h"
#include "model/weights_packing.h"

namespace cascade {

// What the names of all tensors of layers begin with.
inline constexpr std::string_view kLayersPrefix = "model.layers.";

// One of several equal parts of a tensor: number `index` of the `count` along its first dimension.
struct TensorSlice {
  int index = 0;
  int count = 0;  // 0: the whole tensor, which lacks that dimension
};

// Finds tensors, reads vectors, and describes matrices; place() gives the matrices their memory.
// Functions that find tensors have the errors of load_weights(). A matrix that was described must
// not move. The constructor's arguments must outlive this.
class PackingPlan {
 public:
  PackingPlan(const TensorFiles& files, const ModelConfig& config, const WeightPlan& types,
              const Kernels& kernels)
      : files_(files), config_(config), types_(types), kernels_(kernels) {}

  const ModelConfig& config() const { return config_; }
  bool has(std::string_view tensor) const { return files_.contains(tensor); }

  // The values of a tensor of this shape.
  Result<std::vector<float>> values(const std::string& name, std::vector<int64_t> shape);
  Result<std::vector<float>> vector(const std::string& name, int64_t size) {
    return values(name, {size});
  }
  // A norm's factors.
  Result<std::vector<float>> norm(const std::string& name, int64_t size);

  // `packed` becomes the matrix of one tensor, [n, k].
  Status matrix(const std::string& name, int64_t n, int64_t k, PackedMatrix& packed,
                bool is_head = false);

  // A matrix, [n, k], as a tensor or a part of one.
  struct Part {
    std::string weight;
    int n;
    std::string bias = {};  // empty: there is none
    TensorSlice slice = {};
    // As in Tensor.
    bool transposed = false;
    int interleaved = 0;
    int interleaved_run = 1;
    // The weight is a pair of tensors, WEIGHT_blocks and WEIGHT_scales: MXFP4 as in gpt-oss.
    bool is_pair = false;
  };
  // The part NAME.weight, and NAME.bias if it has one.
  static Part linear(const std::string& name, int n, bool has_bias) {
    return {name + ".weight", n, has_bias ? name + ".bias" : ""};
  }
  // `stack` becomes the matrices of tensors that are multiplied together.
  Status stacked(const std::vector<Part>& parts, int k, StackedMatrix& stack);
  // A matrix that is one tensor in the files; its parts have n[i] rows.
  Status fused(const std::string& name, const std::vector<int>& n, int k, StackedMatrix& stack);
  // Matrices that keep their values: each becomes bf16 if it is that in the files, else f32.
  Status exact(const std::vector<Part>& parts, int k, StackedMatrix& stack);

  // The type of the last tensor `name` that was found; it must have been.
  TensorType type_in_file(std::string_view name) const;
  // Refuses tensors of the decoder's layers that were not asked for: a model with such tensors
  // computes something that the configuration does not say.
  Status check_all_layers_used() const;

  // The bytes of all matrices.
  size_t packed_bytes() const;
  // Gives every matrix its place in packed_bytes() bytes.
  void place(uint8_t* memory);
  PackedFileId file_id(const Digest& digest) const;
  // The types of the matrices but exact ones, that of most bytes first.
  std::vector<WeightType> types() const;
  // The types of all matrices, in order, if some have records; else "".
  std::string record_types() const;
  // Whether some matrix has the scales of its file's blocks.
  bool has_block_scales() const;

  std::span<const NamedTensor> tensors() const { return used_; }
  std::span<const PackJob> jobs() const { return jobs_; }
  // The bytes that the tensors take in their files.
  int64_t tensor_bytes() const;

 private:
  static bool all_keep(std::span<const NamedTensor> tensors, WeightType type);
  std::optional<WeightType> own_type_for(const NamedTensor& named, bool is_head) const;
  size_t end_of_matrix(std::span<const NamedTensor> parts, size_t begin) const;
  WeightType type_for(std::span<const NamedTensor> tensors) const;
  PackedMatrix describe(int n, int k, std::span<const NamedTensor> tensors,
                        bool is_head = false) const;
  bool is_exact(const PackJob& job) const;
  Result<Tensor> find(const std::string& name, std::vector<int64_t> shape, TensorSlice slice = {},
                      bool is_bytes = false);
  Result<std::vector<float>> read_bias(const Part& part);
  Status read_biases(const std::vector<Part>& parts, StackedMatrix& stack);
  Status find_part(const Part& part, int k);
  Status find_pair(const Part& part, int k);

  const TensorFiles& files_;
  const ModelConfig& config_;
  const WeightPlan types_;
  const Kernels& kernels_;
  std::vector<NamedTensor> used_;
  std::vector<PackJob> jobs_;
  std::vector<size_t> exact_;  // tensors that exact() found, ascending
};

}  // namespace cascade
