// How much memory the activations of a forward pass take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "model/config.h"

namespace cascade {

// The floats of one row's activations, in whole cache lines, and the buffers that a thread needs.
struct ActivationSizes {
  size_t hidden;             // of the residual stream, and of its norm
  size_t qkv;                // q, gates, k and v of all heads, each whole panels; or the projection
                             // of a recurrent layer
  size_t attention;          // outputs of all query heads, or of a recurrence
  size_t gate_up;            // two parts, each whole panels; 0 if all layers are mixtures
  size_t output;             // of the attention's or the MLP's last matrix
  size_t attention_scratch;  // of one thread
  size_t quantized_bytes;    // of all rows' quantised input; 0 without quantised weights
  size_t expanded_bytes;     // of one thread, for quantised weights; else 0
  size_t mixture_bytes;      // of a MixturePass
  size_t recurrent_bytes;    // of a RecurrentPass
  size_t angles_bytes;       // of RopeAngles
  size_t inputs_bytes;       // of LayerInputs for all rows, but what threads need
  size_t inputs_scratch;     // bytes of one thread for LayerInputs

  // The number of floats of all float activations.
  size_t floats(int rows, int threads) const;
  // The bytes of all buffers together.
  size_t bytes(int rows, int threads) const;
};

// The activations of a pass, with the widths of ActivationSizes.
struct ActivationRows {
  float* residual;               // [rows, hidden_size]
  float* normed;                 // [rows, hidden_size]
  float* qkv;                    // [rows, qkv]
  float* attention;              // [rows, attention]
  float* gate_up;                // [rows, gate_up]
  float* projected;              // [rows, output]
  uint8_t* quantized = nullptr;  // rows of quantised input, if weights are quantised
};

// The kernel that combines the gates and ups of an MLP (kernels/kernels.h): silu_mul, for example.
using ActivationKernel = void (*)(const float* gate, const float* up, int n, float* out);
ActivationKernel activation_kernel(Activation activation, const Kernels& kernels);

// The largest number of input channels of a matrix but a router's.
int largest_input(const ModelConfig& config);

// The sizes for passes of up to `rows` rows; `quantized`: whether some weights are quantised.
ActivationSizes activation_sizes(const ModelConfig& config, bool quantized, int rows);

}  // namespace cascade
