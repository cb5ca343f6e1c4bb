// The order of channels is that of transformers' GatedDeltaNet, MambaLayer and ShortConv classes.
#include "model/recurrent_pass.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "kernels/exp.h"
#include "model/for_rows.h"

namespace cascade {
namespace {

// The root of a squared length is taken after adding this number, as in flash-linear-attention.
constexpr float kLengthOffset = 1e-6f;

size_t cache_lines(int floats) {
  return round_up(static_cast<size_t>(floats), kCacheLineFloats);
}

// The floats of a row in each buffer.
struct RecurrentRowSizes {
  size_t inputs, convolved, steps, scan_steps;
  size_t all() const { return inputs + convolved + steps + scan_steps; }
};
RecurrentRowSizes recurrent_row_sizes(const RecurrentConfig& config) {
  const bool has_steps = config.kind == Recurrence::kDeltaNet;
  const bool gathers = config.kind != Recurrence::kMamba;
  const bool scans = config.kind != Recurrence::kConvolution;
  const size_t channels = cache_lines(config.channels);
  const size_t heads = static_cast<size_t>(round_up(config.value_heads, kPanelChannels));
  return {.inputs = gathers ? channels : 0,
          .convolved = scans ? channels : 0,
          .steps = has_steps ? 2 * heads : 0,
          .scan_steps = scans ? 2 * heads : 0};
}

// ln(1 + exp(x)). In f64, and rounded once.
float softplus(float x) {
  const double value = x;
  return static_cast<float>(std::max(value, 0.0) + std::log1p(std::exp(-std::abs(value))));
}

// The decay of a step of this size.
float decay_of(float step, float rate) {
  return static_cast<float>(std::exp(double{step} * double{rate}));
}

float scan_rate(float x) {
  return std::isnan(x) ? x : 1.0f / (1.0f + exp_reference(0.0f - x));
}

}  // namespace

RecurrentPass::RecurrentPass(const ModelConfig& config, const Kernels& kernels, ThreadPool& pool,
                             MatrixMultiplier& multiplier, int rows_max)
    : config_(config),
      recurrent_(config.recurrent),
      kernels_(kernels),
      pool_(pool),
      multiplier_(multiplier),
      rows_max_(rows_max),
      zeros_(static_cast<size_t>(recurrent_.channels)),
      memory_(PackedMemory::require(bytes(config, rows_max))) {
  CHECK(!recurrent_.layers.empty() && recurrent_.taps >= 1 &&
        recurrent_.taps <= kConvolutionTapsMax);
  const auto dim = static_cast<float>(recurrent_.key_dim);
  if (recurrent_.kind == Recurrence::kDeltaNet) {
    query_norm_.assign(static_cast<size_t>(recurrent_.key_dim), 1.0f / dim);
    key_norm_.assign(static_cast<size_t>(recurrent_.key_dim), 1.0f / std::sqrt(dim));
  }
  const RecurrentRowSizes sizes = recurrent_row_sizes(recurrent_);
  channels_ = cache_lines(recurrent_.channels);
  steps_stride_ = sizes.steps;
  scan_steps_stride_ = sizes.scan_steps;
  const auto rows = static_cast<size_t>(rows_max);
  float* next = reinterpret_cast<float*>(memory_.data());
  inputs_ = std::exchange(next, next + sizes.inputs * rows);
  convolved_ = std::exchange(next, next + sizes.convolved * rows);
  steps_ = std::exchange(next, next + sizes.steps * rows);
  scan_steps_ = next;
}

size_t RecurrentPass::bytes(const ModelConfig& config, int rows_max) {
  if (config.recurrent.layers.empty()) return 0;
  return recurrent_row_sizes(config.recurrent).all() * static_cast<size_t>(rows_max) *
         sizeof(float);
}

void RecurrentPass::begin(std::span<const Sequence> sequences) {
  sequences_.assign(sequences.begin(), sequences.end());
  sequence_of_.clear();
  for (size_t i = 0; i < sequences_.size(); ++i) {
    const Sequence& sequence = sequences_[i];
    CHECK(sequence.first == static_cast<int>(sequence_of_.size()) && sequence.count > 0);
    sequence_of_.insert(sequence_of_.end(), static_cast<size_t>(sequence.count),
                        static_cast<int>(i));
  }
  CHECK(!sequence_of_.empty() && static_cast<int>(sequence_of_.size()) <= rows_max_);
}

void RecurrentPass::run(const RecurrentWeights& w, int layer, const Buffers& buffers) {
  Call call = {w, recurrent_.layer_offset(layer), buffers, nullptr, 0};
  project(call);
  find_inputs(call);
  const bool scans = recurrent_.kind != Recurrence::kConvolution;
  for_rows([&](int row) {
    convolve(call, row);
    if (scans) prepare_scan(call, row);
  });
  if (scans) scan(call);
  for_rows([&](int row) { gate(call, row); });
  pool_.run(static_cast<int>(sequences_.size()),
            [&](int index, int) { keep_inputs(call, sequences_[static_cast<size_t>(index)]); });
}

void RecurrentPass::project(const Call& call) {
  const Buffers& buffers = call.buffers;
  const auto hidden = static_cast<size_t>(config_.hidden_size);
  const int rows = static_cast<int>(sequence_of_.size());
  const std::array<Product, 2> products = {{
      {&call.w.input, buffers.x, hidden, rows, buffers.quantized, buffers.projected,
       buffers.projected_stride},
      {&call.w.steps, buffers.x, hidden, rows, nullptr, steps_, steps_stride_},
  }};
  if (call.w.input.quantized()) {
    multiplier_.set_inputs(std::span(products).first(1), [](int, int, int, int) {});
  }
  const bool has_steps = !call.w.steps.matrices.empty();
  multiplier_.multiply(std::span(products).first(has_steps ? 2 : 1));
}

void RecurrentPass::find_inputs(Call& call) {
  const bool is_together = call.w.input.offset.size() == 1;
  call.inputs = inputs_;
  call.inputs_stride = channels_;
  if (recurrent_.kind == Recurrence::kMamba ||
      (recurrent_.kind == Recurrence::kDeltaNet && !is_together)) {
    const int gates = recurrent_.kind == Recurrence::kMamba ? recurrent_.value_channels() : 0;
    call.inputs = call.buffers.projected + gates;
    call.inputs_stride = call.buffers.projected_stride;
    return;
  }
  for_rows([&](int row) { gather_inputs(call, row); });
}

void RecurrentPass::gather_inputs(const Call& call, int row) {
  const auto at = static_cast<size_t>(row);
  const float* projected = call.buffers.projected + at * call.buffers.projected_stride;
  float* const inputs = inputs_ + at * channels_;
  if (recurrent_.kind == Recurrence::kConvolution) {
    const int n = recurrent_.channels;
    std::copy_n(projected + 2 * n, n, inputs);
    kernels_.multiply_rows(inputs, projected, n);
    return;
  }
  // Key head by key head: query, key, its value heads, and their gates.
  const int dim = recurrent_.key_dim, keys = recurrent_.key_channels();
  const int values = recurrent_.value_channels() / recurrent_.key_heads;
  for (int head = 0; head < recurrent_.key_heads; ++head) {
    std::copy_n(projected, dim, inputs + head * dim);
    std::copy_n(projected + dim, dim, inputs + keys + head * dim);
    std::copy_n(projected + 2 * dim, values, inputs + 2 * keys + head * values);
    projected += 2 * dim + 2 * values;
  }
}

template <class Body>
void RecurrentPass::for_rows(const Body& body) {
  cascade::for_rows(pool_, static_cast<int>(sequence_of_.size()), body);
}

const float* RecurrentPass::input(const Call& call, const Sequence& sequence, int index) const {
  const int before = recurrent_.taps - 1;
  if (index >= before) {
    const auto row = static_cast<size_t>(sequence.first + index - before);
    return call.inputs + row * call.inputs_stride;
  }
  if (sequence.from == nullptr) return zeros_.data();
  const float* const state = sequence.from + call.state_offset;
  return state + static_cast<size_t>(index) * static_cast<size_t>(recurrent_.channels);
}

void RecurrentPass::convolve(const Call& call, int row) {
  const auto at = static_cast<size_t>(row);
  const Sequence& sequence = sequences_[static_cast<size_t>(sequence_of_[at])];
  const bool is_all = recurrent_.kind == Recurrence::kConvolution;
  std::array<const float*, kConvolutionTapsMax> rows;
  for (int tap = 0; tap < recurrent_.taps; ++tap) {
    rows[static_cast<size_t>(tap)] = input(call, sequence, row - sequence.first + tap);
  }
  kernels_.convolve({.rows = rows.data(),
                     .weights = call.w.taps.data(),
                     .weight_stride = static_cast<size_t>(recurrent_.channels),
                     .bias = call.w.taps_bias.empty() ? nullptr : call.w.taps_bias.data(),
                     .taps = recurrent_.taps,
                     .n = recurrent_.channels,
                     .silu = !is_all,
                     .out = is_all ? call.buffers.out + at * call.buffers.out_stride
                                   : convolved_ + at * channels_});
}

void RecurrentPass::prepare_scan(const Call& call, int row) {
  const auto at = static_cast<size_t>(row);
  const int heads = recurrent_.value_heads;
  float* const decays = scan_steps_ + at * scan_steps_stride_;
  float* const rates = decays + heads;
  if (recurrent_.kind == Recurrence::kMamba) {
    const int before = recurrent_.value_channels() + recurrent_.channels;
    const float* const logits =
        call.buffers.projected + at * call.buffers.projected_stride + before;
    for (int head = 0; head < heads; ++head) {
      const float step = softplus(logits[head] + call.w.step_bias[static_cast<size_t>(head)]);
      // A NaN stays a NaN.
      rates[head] = step < recurrent_.step_min   ? recurrent_.step_min
                    : step > recurrent_.step_max ? recurrent_.step_max
                                                 : step;
      decays[head] = decay_of(rates[head], call.w.decay_rate[static_cast<size_t>(head)]);
    }
    return;
  }
  const float* const logits = steps_ + at * steps_stride_;
  const bool is_together = call.w.steps.offset.size() == 1;
  const int served = heads / recurrent_.key_heads;
  for (int head = 0; head < heads; ++head) {
    const int rate = is_together ? head / served * 2 * served + head % served : head;
    const int decay = is_together ? rate + served : call.w.steps.offset[1] + head;
    const float step = softplus(logits[decay] + call.w.step_bias[static_cast<size_t>(head)]);
    rates[head] = scan_rate(logits[rate]);
    decays[head] = decay_of(step, call.w.decay_rate[static_cast<size_t>(head)]);
  }
  const int dim = recurrent_.key_dim;
  const float eps = kLengthOffset / static_cast<float>(dim);
  float* vectors = convolved_ + at * channels_;
  for (const std::vector<float>* norm : {&query_norm_, &key_norm_}) {
    for (int head = 0; head < recurrent_.key_heads; ++head, vectors += dim) {
      kernels_.rms_norm(vectors, norm->data(), eps, dim, vectors);
    }
  }
}

void RecurrentPass::scan(const Call& call) {
  const int tiles = (recurrent_.value_dim + kStateColumns - 1) / kStateColumns;
  const int heads = recurrent_.value_heads;
  pool_.run(static_cast<int>(sequences_.size()) * heads * tiles, [&](int task, int) {
    const auto sequence = static_cast<size_t>(task / tiles / heads);
    scan_tile(call, sequences_[sequence], task / tiles % heads, task % tiles * kStateColumns);
  });
}

// Scans the tile of a head's state that begins at column `begin`.
void RecurrentPass::scan_tile(const Call& call, const Sequence& sequence, int head, int begin) {
  Tile tile = {head, begin, std::min(kStateColumns, recurrent_.value_dim - begin), nullptr};
  const int before = head * recurrent_.value_dim + begin;  // columns of earlier tiles
  const size_t offset = call.state_offset + recurrent_.input_floats() +
                        static_cast<size_t>(before) * static_cast<size_t>(recurrent_.key_dim);
  const auto floats = static_cast<size_t>(tile.columns * recurrent_.key_dim);
  tile.state = sequence.to + offset;
  if (sequence.from == nullptr) {
    std::fill_n(tile.state, floats, 0.0f);
  } else if (sequence.from != sequence.to) {
    std::memcpy(tile.state, sequence.from + offset, floats * sizeof(float));
  }
  int done = 0;
  const auto scan_to = [&](int end) {
    if (end > done) scan_rows(call, tile, sequence.first + done, end - done);
    done = end;
  };
  for (const KeptState& kept : sequence.kept) {
    scan_to(kept.tokens);
    std::memcpy(kept.state + offset, tile.state, floats * sizeof(float));
  }
  scan_to(sequence.count);
}

void RecurrentPass::scan_rows(const Call& call, const Tile& tile, int first, int count) {
  const bool is_delta = recurrent_.kind == Recurrence::kDeltaNet;
  const int keys = recurrent_.key_channels(), values = recurrent_.value_channels();
  const int before = tile.head * recurrent_.value_dim + tile.begin;
  const auto at = static_cast<size_t>(first);
  const float* const rows = convolved_ + at * channels_;
  const float* const key_rows = rows + recurrent_.key_head(tile.head) * recurrent_.key_dim;
  const float* const steps = scan_steps_ + at * scan_steps_stride_ + tile.head;
  kernels_.scan({.tokens = count,
                 .key_dim = recurrent_.key_dim,
                 .columns = tile.columns,
                 .corrects = is_delta,
                 .state = tile.state,
                 .state_stride = static_cast<size_t>(tile.columns),
                 .keys = key_rows + (is_delta ? keys : values),
                 .queries = key_rows + (is_delta ? 0 : values + keys),
                 .key_stride = channels_,
                 .values = rows + (is_delta ? 2 * keys : 0) + before,
                 .value_stride = channels_,
                 .decays = steps,
                 .rates = steps + recurrent_.value_heads,
                 .step_stride = scan_steps_stride_,
                 .out = call.buffers.out + at * call.buffers.out_stride + before,
                 .out_stride = call.buffers.out_stride});
}

const float* RecurrentPass::output_gate(const Call& call, int row, int head) const {
  const float* const projected =
      call.buffers.projected + static_cast<size_t>(row) * call.buffers.projected_stride;
  const int of_head = head * recurrent_.value_dim;
  if (recurrent_.kind == Recurrence::kMamba) return projected + of_head;
  if (call.w.input.offset.size() == 2) return projected + call.w.input.offset[1] + of_head;
  // Key head by key head, each with its query, key, values and gates.
  const int served = recurrent_.value_heads / recurrent_.key_heads;
  const int values = served * recurrent_.value_dim;
  const int of_key_head = head / served * (2 * recurrent_.key_dim + 2 * values);
  return projected + of_key_head + 2 * recurrent_.key_dim + values +
         head % served * recurrent_.value_dim;
}

void RecurrentPass::gate(const Call& call, int row) {
  const auto at = static_cast<size_t>(row);
  const int values = recurrent_.value_channels(), dim = recurrent_.value_dim;
  float* const out = call.buffers.out + at * call.buffers.out_stride;
  if (recurrent_.kind == Recurrence::kConvolution) {
    const int n = recurrent_.channels;
    const float* const projected = call.buffers.projected + at * call.buffers.projected_stride;
    kernels_.multiply_rows(out, projected + n, n);
    return;
  }
  for (int head = 0; head < recurrent_.value_heads; ++head) {
    float* const of_head = out + head * dim;
    if (recurrent_.kind == Recurrence::kMamba) {
      const float* const x = convolved_ + at * channels_ + head * dim;
      kernels_.add_scaled(of_head, x, call.w.skip[static_cast<size_t>(head)], dim);
    } else {
      kernels_.rms_norm(of_head, call.w.norm.data(), config_.rms_norm_eps, dim, of_head);
    }
    kernels_.silu_mul(output_gate(call, row, head), of_head, dim, of_head);
  }
  if (recurrent_.kind == Recurrence::kMamba) {
    kernels_.rms_norm(out, call.w.norm.data(), config_.rms_norm_eps, values, out);
  }
}

// Writes the last inputs of the convolution into the states that are wanted.
void RecurrentPass::keep_inputs(const Call& call, const Sequence& sequence) {
  for (const KeptState& kept : sequence.kept) {
    keep_inputs(call, sequence, kept.tokens, kept.state);
  }
  // Last, because this state may be the one before the rows.
  keep_inputs(call, sequence, sequence.count, sequence.to);
}

// Does the same for the state after the first `rows` rows. Inputs that were in that state already
// move to earlier places, one after the other.
void RecurrentPass::keep_inputs(const Call& call, const Sequence& sequence, int rows,
                                float* state) {
  float* to = state + call.state_offset;
  for (int tap = 0; tap + 1 < recurrent_.taps; ++tap, to += recurrent_.channels) {
    std::memmove(to, input(call, sequence, rows + tap),
                 static_cast<size_t>(recurrent_.channels) * sizeof(float));
  }
}

}  // namespace cascade
