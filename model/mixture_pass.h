// The MLP of layers that are mixtures of experts, for the rows of a pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "model/config.h"
#include "model/expert_choice.h"
#include "model/expert_rows.h"
#include "model/matrix_multiplier.h"
#include "model/packed_memory.h"
#include "model/weights.h"

namespace cascade {

// The rows of an expert are multiplied together, so its weights are read once for all of them, and
// weights of experts that no row uses are not touched. The bits of a row depend on no other row:
// what its experts compute is added up in the order of their numbers, the shared expert last.
//
// Owns its buffers, so one call at a time. All that is given to the constructor must outlive this.
class MixturePass {
 public:
  // `quantized`: whether some weights are. At most `rows_max` rows in a call.
  MixturePass(const ModelConfig& config, const Kernels& kernels, ThreadPool& pool,
              MatrixMultiplier& multiplier, bool quantized, int rows_max);

  // The bytes of all buffers; 0 if no layer is a mixture.
  static size_t bytes(const ModelConfig& config, bool quantized, int rows_max);

  // out[r] = sum over the experts of row r of weight * expert(x[r]). x: [rows, hidden_size]. out:
  // rows `out_stride` floats apart.
  void run(const MixtureWeights& w, const float* x, int rows, float* out, size_t out_stride);
  // The same for a mixture that stands beside an MLP (MixtureConfig::beside_mlp): router and
  // experts have their own norms of the residual stream [rows, hidden_size], and the normed sum of
  // the experts is added to that of the MLP, which `out` has: out = norm(out) + norm(experts).
  void add(const MixtureWeights& w, const float* residual, int rows, float* out, size_t out_stride);

 private:
  struct Sizes;
  using Group = ExpertRows::Group;

  void route(const MixtureWeights& w, const float* x, int rows);
  void run_chosen(const MixtureWeights& w, const float* x, int rows, float* out, size_t out_stride);
  void run_part(const MixtureWeights& w, std::span<const Group> groups, const float* x);
  // The product of the first matrices of a group, and what it needs as input.
  Product gate_up_product(const StackedMatrix& gate_up, const Group& group, int first_use,
                          const float* x);
  // Adds the outputs of the groups' uses to the rows of `out`.
  void add_outputs(std::span<const Group> groups, float* out, size_t out_stride);
  // Room for `rows` quantised rows of `k` channels.
  uint8_t* take_quantized(int rows, int k);

  const ModelConfig& config_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  MatrixMultiplier& multiplier_;
  std::vector<ExpertChoice> choices_;  // [threads]
  std::vector<ChosenExpert> chosen_;   // [rows][mixture.all_chosen()]
  ExpertRows rows_;
  std::vector<Product> inputs_;    // of a part: those whose input is not that of another one
  std::vector<Product> products_;  // of a part, one for each group

  PackedMemory memory_;  // all that follows
  size_t logits_stride_, gate_up_stride_, down_stride_;
  float* logits_;    // [rows_max, logits_stride]: of the router
  float* beside_;    // [2 * rows_max, hidden_size] if an MLP is beside: the router's input,
                     // later the experts' output; after these rows, the experts' input
  float* gathered_;  // [kPartUses, hidden_size]: input of weights that are not quantised
  float* gate_up_;   // [kPartUses, gate_up_stride]
  float* down_;      // [kPartUses, down_stride]
  uint8_t* quantized_;
  size_t quantized_used_ = 0;
};

}  // namespace cascade
