// The recurrent layers of one forward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "model/config.h"
#include "model/matrix_multiplier.h"
#include "model/packed_memory.h"
#include "model/slice.h"
#include "model/weights.h"

namespace cascade {

// Projects the rows of a pass, and lets each sequence's rows go through its state, in order:
// convolution, scan, and the gate of the output. The bits of a row depend on the rows of its
// sequence before it alone, not on how they were cut into calls, nor on batch mates or threads.
//
// The object owns its buffers, so that only one call may run at a time. All that is given to the
// constructor must outlive this.
class RecurrentPass {
 public:
  // A call has at most `rows_max` rows. Precondition: some layers are recurrent.
  RecurrentPass(const ModelConfig& config, const Kernels& kernels, ThreadPool& pool,
                MatrixMultiplier& multiplier, int rows_max);

  // The bytes of all buffers; 0 if no layer is recurrent.
  static size_t bytes(const ModelConfig& config, int rows_max);

  // Consecutive rows of one sequence.
  struct Sequence {
    int first;          // of its rows
    int count;          // at least 1
    const float* from;  // [RecurrentConfig::state_floats()]: the state before the rows; nullptr:
                        // all is 0, as before the first token
    float* to;          // the state after them; may be `from`, but overlap it in no other way
    std::vector<KeptState> kept = {};  // as in Slice, of these rows
  };
  struct Buffers {
    const float* x;      // [rows, hidden_size]: the layer's normed input
    uint8_t* quantized;  // room for the same rows, quantised
    float* projected;    // [rows], `projected_stride` floats apart: for results between
    size_t projected_stride;
    float* out;  // [rows], `out_stride` floats apart: the input of the layer's output projection
    size_t out_stride;
  };
  // Sets the sequences of the following calls of run(). There is at least one, their rows follow
  // each other from row 0 on, and there are at most rows_max (CHECKed).
  void begin(std::span<const Sequence> sequences);
  // Computes `layer` for these sequences. Of the states, only the part of this layer is read and
  // written.
  void run(const RecurrentWeights& w, int layer, const Buffers& buffers);

 private:
  // The layer in progress.
  struct Call {
    const RecurrentWeights& w;
    size_t state_offset;  // of the layer in a state
    const Buffers& buffers;
    const float* inputs;  // of the convolution: rows `inputs_stride` floats apart
    size_t inputs_stride;
  };
  // Columns [begin, begin + columns) of a value head's state.
  struct Tile {
    int head;
    int begin;
    int columns;
    float* state;  // [key_dim, columns]
  };

  void project(const Call& call);
  // Sets the inputs of the convolution.
  void find_inputs(Call& call);
  void gather_inputs(const Call& call, int row);
  template <class Body>
  void for_rows(const Body& body);
  void convolve(const Call& call, int row);
  void prepare_scan(const Call& call, int row);
  void scan(const Call& call);
  void scan_tile(const Call& call, const Sequence& sequence, int head, int begin);
  void scan_rows(const Call& call, const Tile& tile, int first, int count);
  void gate(const Call& call, int row);
  void keep_inputs(const Call& call, const Sequence& sequence);
  void keep_inputs(const Call& call, const Sequence& sequence, int rows, float* state);
  // Input `index` of the convolution, counted from the first one in the sequence's state.
  const float* input(const Call& call, const Sequence& sequence, int index) const;
  // The gate of value head `head`.
  const float* output_gate(const Call& call, int row, int head) const;

  const ModelConfig& config_;
  const RecurrentConfig& recurrent_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  MatrixMultiplier& multiplier_;
  const int rows_max_;
  // [key_dim] of kDeltaNet: factors that make vectors of the lengths 1 / sqrt(key_dim) and 1.
  std::vector<float> query_norm_, key_norm_;
  std::vector<float> zeros_;  // [channels]: inputs before the first token
  std::vector<Sequence> sequences_;
  std::vector<int> sequence_of_;  // [rows]

  PackedMemory memory_;  // all that follows
  size_t channels_;      // of a row, whole cache lines
  size_t steps_stride_, scan_steps_stride_;
  float* inputs_;      // [rows_max, channels_]: if they are not in the projection as they are
  float* convolved_;   // [rows_max, channels_]
  float* steps_;       // [rows_max, steps_stride_]: RecurrentWeights::steps times x
  float* scan_steps_;  // [rows_max, scan_steps_stride_]: decays, then rates, of all value heads
};

}  // namespace cascade
