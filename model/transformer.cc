// The decoder, layer by layer. Every loop over rows or panels is shared out by the pool; every sum
// lives inside one kernel call, so that sharing changes no bit.
#include "model/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "base/number_types.h"
#include "kernels/kv_format.h"
#include "kernels/page_index.h"
#include "model/activations.h"
#include "model/for_rows.h"

namespace cascade {
namespace {

// Whether some matrix needs quantised input rows.
bool has_quantized(const Weights& weights) {
  const bool layer_inputs =
      weights.layer_inputs != nullptr && weights.layer_inputs->projection.quantized();
  return weights.lm_head().quantized() || layer_inputs ||
         std::ranges::any_of(weights.layers, [](const LayerWeights& w) {
           return std::ranges::any_of(w.stacks(), &StackedMatrix::quantized);
         });
}

// The bytes of the activations that the Transformer itself holds.
size_t activation_bytes(const ActivationSizes& sizes) {
  return sizes.floats(Transformer::kRowsMax, /*threads=*/0) * sizeof(float) + sizes.quantized_bytes;
}

// Norms the heads of `x`: each by itself, or all together if `norm` has weights for all.
void norm_heads(const Kernels& kernels, float eps, const std::vector<float>& norm, int channels,
                float* x) {
  const int size = static_cast<int>(norm.size());
  for (int i = 0; i < channels; i += size) kernels.rms_norm(x + i, norm.data(), eps, size, x + i);
}

void finish_logits(const ModelConfig& config, const Kernels& kernels, float* logits, int count) {
  if (config.logit_multiplier != 1) kernels.multiply(logits, config.logit_multiplier, count);
  if (config.logit_soft_cap > 0) kernels.soft_cap(logits, config.logit_soft_cap, count);
}

}  // namespace

KvLayout kv_layout(const ModelConfig& config, KvType type) {
  KvLayout layout;
  layout.type = type;
  for (int layer = 0; layer < config.layers; ++layer) {
    const AttentionShape shape = config.attention_shape(layer);
    if (!shape.writes_kv) continue;
    CHECK(shape.kv_part == layout.part_count());
    KvPartLayout part = {.kv_heads = shape.kv_heads, .head_dim = shape.head_dim};
    // Whole cache lines, so that every block is aligned.
    part.key_block_bytes = round_up(key_block_bytes(type, shape.head_dim), size_t{64});
    part.value_block_bytes = round_up(value_block_bytes(type, shape.head_dim), size_t{64});
    part.page_index_bytes = page_index_bytes(shape.head_dim) + sizeof(uint64_t);
    layout.append(part);
  }
  return layout;
}

Transformer::Transformer(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
                         const KvLayout& layout, ThreadPool& pool)
    : config_(config),
      weights_(weights),
      kernels_(kernels),
      layout_(layout),
      pool_(pool),
      angles_(config, kRowsMax),
      attention_pass_(config_, kernels, layout, pool),
      multiplier_(kernels, pool, has_quantized(weights) ? largest_input(config) : 0),
      sizes_(activation_sizes(config, has_quantized(weights), kRowsMax)),
      memory_(PackedMemory::require(activation_bytes(sizes_))) {
  for (const LayerWeights& layer : weights.layers) {
    const StackedMatrix& first = layer.recurrent != nullptr ? layer.recurrent->input : layer.qkv;
    CHECK(size_t(first.n_padded()) <= sizes_.qkv);
  }
  if (!config_.mixture.layers.empty()) {
    mixture_pass_.emplace(config_, kernels_, pool_, multiplier_, has_quantized(weights), kRowsMax);
  }
  if (!config_.recurrent.layers.empty()) {
    recurrent_pass_.emplace(config_, kernels_, pool_, multiplier_, kRowsMax);
  }
  if (weights.layer_inputs != nullptr) {
    layer_inputs_.emplace(config_, *weights.layer_inputs, kernels_, pool_, multiplier_, kRowsMax);
  }
  float* next = reinterpret_cast<float*>(memory_.data());
  const auto take = [&next](size_t floats) { return std::exchange(next, next + floats); };
  buffers_.residual = take(sizes_.hidden * kRowsMax);
  buffers_.normed = take(sizes_.hidden * kRowsMax);
  buffers_.qkv = take(sizes_.qkv * kRowsMax);
  buffers_.attention = take(sizes_.attention * kRowsMax);
  buffers_.gate_up = take(sizes_.gate_up * kRowsMax);
  buffers_.projected = take(sizes_.output * kRowsMax);
  if (has_quantized(weights)) buffers_.quantized = reinterpret_cast<uint8_t*>(next);
}

Status Transformer::forward(std::span<const Slice> slices, float* hidden,
                            const Interrupt& interrupt, PausedPass* paused) {
  if (paused != nullptr) {
    CHECK(slices.size() == 1 && !recurrent_pass_);
    // Otherwise the last layer has fewer rows than the others.
    CHECK(slices[0].outputs == std::ssize(slices[0].token_ids) || slices[0].outputs == 0);
    CHECK(slices[0].absent == nullptr);  // reads ahead begin with the first layer
    CHECK(slices[0].token_ids.size() <= size_t{kRowsMax});
  }
  // Slices are cut into passes of at most kRowsMax rows, in order.
  std::vector<int> done(slices.size(), 0);
  size_t first = 0;
  while (first < slices.size()) {
    std::vector<int> take(slices.size(), 0);
    int rows = 0;
    for (size_t i = first; i < slices.size() && rows < kRowsMax; ++i) {
      const int left = static_cast<int>(slices[i].token_ids.size()) - done[i];
      take[i] = std::min(left, kRowsMax - rows);
      rows += take[i];
    }
    RETURN_IF_ERROR(run_pass(slices, done, take, hidden, {interrupt, paused}));
    for (size_t i = first; i < slices.size(); ++i) {
      done[i] += take[i];
      for (int row = done[i] - take[i]; row < done[i]; ++row) {
        const int wanted_from = static_cast<int>(slices[i].token_ids.size()) - slices[i].outputs;
        if (row >= wanted_from) hidden += config_.hidden_size;
      }
    }
    while (first < slices.size() &&
           done[first] == static_cast<int>(slices[first].token_ids.size())) {
      ++first;
    }
  }
  return {};
}

template <class Body>
void Transformer::for_rows(const Body& body) {
  cascade::for_rows(pool_, static_cast<int>(rows_.size()), body);
}

Status Transformer::run_pass(std::span<const Slice> slices, std::span<const int> skip,
                             std::span<const int> take, float* hidden, const Breaks& breaks) {
  rows_.clear();
  std::vector<RecurrentPass::Sequence> sequences;
  for (size_t i = 0; i < slices.size(); ++i) {
    const Slice& slice = slices[i];
    const auto size = static_cast<int64_t>(slice.token_ids.size());
    CHECK(slice.position >= 0 && slice.outputs >= 0 && slice.outputs <= size);
    CHECK(slice.position <= static_cast<int64_t>(slice.pages.size()) * kPageTokens - size);
    if (recurrent_pass_ && take[i] > 0) {
      // The state of a convolution of one token is empty.
      const bool has_state = config_.recurrent.state_floats() > 0;
      CHECK(!has_state || slice.state_to != nullptr);
      CHECK(!has_state || slice.position == 0 || slice.state_from != nullptr);
      const float* const from = skip[i] == 0 ? slice.state_from : slice.state_to;
      sequences.push_back({static_cast<int>(rows_.size()), take[i], from, slice.state_to});
      for (const KeptState& kept : slice.kept_states) {
        const int tokens = kept.tokens - skip[i];
        CHECK(kept.tokens > 0 && kept.tokens <= size);
        if (tokens > 0 && tokens <= take[i]) sequences.back().kept.push_back({tokens, kept.state});
      }
    }
    for (int row = skip[i]; row < skip[i] + take[i]; ++row) {
      const int64_t position = slice.position + row;
      rows_.push_back({static_cast<int>(i), position, row >= size - slice.outputs,
                       position + slice.free_positions});
    }
  }
  if (rows_.empty()) return {};
  if (recurrent_pass_) recurrent_pass_->begin(sequences);
  embed(slices);
  attention_pass_.begin(rows_, slices);
  Status done = run_layers(slices, breaks);
  attention_pass_.end();
  RETURN_IF_ERROR(std::move(done));
  for_rows([&](int row) {
    kernels_.rms_norm(buffers_.residual + size_t(row) * config_.hidden_size,
                      weights_.final_norm.data(), config_.rms_norm_eps, config_.hidden_size,
                      hidden + size_t(row) * config_.hidden_size);
  });
  return {};
}

Status Transformer::run_layers(std::span<const Slice> slices, const Breaks& breaks) {
  PausedPass place;
  if (breaks.paused != nullptr) place = std::exchange(*breaks.paused, {});
  if (!place.residual.empty()) {
    CHECK(place.residual.size() == rows_.size() * config_.hidden_size);
    std::ranges::copy(place.residual, buffers_.residual);
  }
  for (; place.layer < config_.layers; ++place.layer, place.attended = false) {
    const LayerWeights& w = weights_.layers[place.layer];
    Status done;
    if (place.attended) {
      for_rows([&](int row) { norm_input(w.mlp_norm, row); });
    } else {
      done = add_attention(w, slices, place.layer, breaks.interrupt);
      if (done.ok() && rows_.empty()) return {};
      place.attended = done.ok();
    }
    if (done.ok()) done = ask(breaks.interrupt);
    if (!done.ok()) {
      const bool cancelled = done.error().code == ErrorCode::kCancelled;
      if (breaks.paused != nullptr && cancelled) {
        place.residual.assign(buffers_.residual,
                              buffers_.residual + rows_.size() * config_.hidden_size);
        *breaks.paused = std::move(place);
      }
      return done;
    }
    finish_layer(w, place.layer);
    if (observer_) observer_(place.layer, rows_, buffers_.residual);
  }
  return {};
}

Status Transformer::add_attention(const LayerWeights& w, std::span<const Slice> slices, int layer,
                                  const Interrupt& interrupt) {
  RETURN_IF_ERROR(ask(interrupt));
  for_rows([&](int row) { norm_input(w.attention_norm, row); });
  if (w.recurrent != nullptr) {
    recurrent_pass_->run(*w.recurrent, layer,
                         {.x = buffers_.normed,
                          .quantized = buffers_.quantized,
                          .projected = buffers_.qkv,
                          .projected_stride = sizes_.qkv,
                          .out = buffers_.attention,
                          .out_stride = sizes_.attention});
    if (layer == config_.last_state_layer()) {
      keep_output_rows(buffers_.attention, sizes_.attention);
    }
  } else {
    RETURN_IF_ERROR(attend(w, slices, layer, interrupt));
  }
  if (rows_.empty()) return {};
  RETURN_IF_ERROR(ask(interrupt));
  multiply(
      product(w.output, buffers_.attention, sizes_.attention, buffers_.projected, sizes_.output));
  for_rows([&](int row) {
    add_output(w.attention_output_norm, row);
    norm_input(w.mlp_norm, row);
  });
  return {};
}

Status Transformer::attend(const LayerWeights& w, std::span<const Slice> slices, int layer,
                           const Interrupt& interrupt) {
  project_qkv(w, slices, layer);
  const AttentionShape shape = config_.attention_shape(layer);
  if (shape.writes_kv) RETURN_IF_ERROR(attention_pass_.index_pages(shape.kv_part));
  if (layer == config_.last_state_layer()) {
    keep_output_rows(buffers_.qkv, sizes_.qkv);
    if (rows_.empty()) return {};
    attention_pass_.keep(rows_);
  }
  const float* sinks = w.sink_logits.empty() ? nullptr : w.sink_logits.data();
  RETURN_IF_ERROR(attention_pass_.attend(layer, {buffers_.qkv + w.qkv.offset[0], sizes_.qkv, sinks},
                                         {buffers_.attention, sizes_.attention}, interrupt));
  if (!config_.attention_gate) return {};
  const int q_size = config_.query_heads * shape.head_dim;
  for_rows([&](int row) {
    const float* const gates = buffers_.qkv + row * sizes_.qkv + w.qkv.offset[0] + q_size;
    float* const out = buffers_.attention + row * sizes_.attention;
    kernels_.sigmoid_mul(gates, out, q_size, out);
  });
  return {};
}

void Transformer::embed(std::span<const Slice> slices) {
  std::vector<int32_t> ids;
  for (const Row& row : rows_) {
    const Slice& slice = slices[row.slice];
    ids.push_back(slice.token_ids[row.position - slice.position]);
    CHECK(ids.back() >= 0 && ids.back() < config_.vocab_size);
  }
  const int hidden = config_.hidden_size;
  for_rows([&](int row) {
    float* residual = buffers_.residual + size_t(row) * hidden;
    get_row(weights_.embedding, ids[row], residual);
    if (weights_.embedding_multiplier != 1) {
      kernels_.multiply(residual, weights_.embedding_multiplier, hidden);
    }
    angles_.set(row, rows_[row].rope_position);
  });
  if (layer_inputs_) layer_inputs_->compute(ids, buffers_.residual, buffers_.quantized);
}

Product Transformer::product(const StackedMatrix& w, const float* x, size_t x_stride, float* y,
                             size_t y_stride) const {
  return {&w, x, x_stride, static_cast<int>(rows_.size()), buffers_.quantized, y, y_stride};
}

void Transformer::multiply(const Product& product) {
  if (product.w->quantized()) multiplier_.set_inputs({&product, 1}, [](int, int, int, int) {});
  multiplier_.multiply({&product, 1});
}

void Transformer::norm_input(const std::vector<float>& norm, int row) {
  const int hidden = config_.hidden_size;
  const float* residual = buffers_.residual + size_t(row) * hidden;
  float* normed = buffers_.normed + size_t(row) * hidden;
  if (norm.empty()) {
    std::copy_n(residual, hidden, normed);
  } else {
    kernels_.rms_norm(residual, norm.data(), config_.rms_norm_eps, hidden, normed);
  }
}

void Transformer::project_qkv(const LayerWeights& w, std::span<const Slice> slices, int layer) {
  const AttentionShape shape = config_.attention_shape(layer);
  const int q_size = config_.query_heads * shape.head_dim;
  const int kv_size = shape.kv_heads * shape.head_dim;
  multiply(product(w.qkv, buffers_.normed, config_.hidden_size, buffers_.qkv, sizes_.qkv));
  const LayerRope kind = config_.layer_rope[layer];
  const float eps = config_.rms_norm_eps;
  const int rotary_dim = config_.rotary_dim(kind);
  for_rows([&](int r) {
    const Row& row = rows_[r];
    float* const qkv = buffers_.qkv + r * sizes_.qkv;
    float* const q = qkv + w.qkv.offset[0];
    if (!w.query_norm.empty()) norm_heads(kernels_, eps, w.query_norm, q_size, q);
    if (kind != LayerRope::kNone) {
      kernels_.rope(q, config_.query_heads, shape.head_dim, rotary_dim, angles_.cos(kind, r),
                    angles_.sin(kind, r));
    }
    const float scale = config_.query_scale(row.rope_position);
    if (scale != 1) kernels_.multiply(q, scale, q_size);
    if (!shape.writes_kv) return;
    float* const k = qkv + w.qkv.offset[1];
    float* const v = shape.key_is_value ? qkv + w.qkv.n_padded() : qkv + w.qkv.offset[2];
    if (shape.key_is_value) std::copy_n(k, kv_size, v);
    if (!w.key_norm.empty()) norm_heads(kernels_, eps, w.key_norm, kv_size, k);
    if (!w.value_norm.empty()) norm_heads(kernels_, eps, w.value_norm, kv_size, v);
    if (kind != LayerRope::kNone) {
      kernels_.rope(k, shape.kv_heads, shape.head_dim, rotary_dim, angles_.cos(kind, r),
                    angles_.sin(kind, r));
    }
    uint8_t* const page = slices[row.slice].pages[row.position / kPageTokens];
    CHECK(page != nullptr);
    const int slot = static_cast<int>(row.position % kPageTokens);
    for (int head = 0; head < shape.kv_heads; ++head) {
      const size_t channel = size_t(head) * shape.head_dim;
      kernels_.write_kv(layout_.type, shape.head_dim, slot, k + channel, v + channel,
                        page + layout_.key_offset(shape.kv_part, head),
                        page + layout_.value_offset(shape.kv_part, head));
    }
  });
}

void Transformer::add_output(const std::vector<float>& norm, int row) {
  const int hidden = config_.hidden_size;
  float* output = buffers_.projected + row * sizes_.output;
  if (!norm.empty()) {
    kernels_.rms_norm(output, norm.data(), config_.rms_norm_eps, hidden, output);
  }
  if (config_.residual_multiplier != 1) {
    kernels_.multiply(output, config_.residual_multiplier, hidden);
  }
  kernels_.add(buffers_.residual + size_t(row) * hidden, output, hidden);
}

void Transformer::finish_layer(const LayerWeights& w, int layer) {
  const int rows = static_cast<int>(rows_.size());
  if (!w.down.matrices.empty()) run_mlp(w);
  if (w.mixture != nullptr && config_.mixture.beside_mlp) {
    mixture_pass_->add(*w.mixture, buffers_.residual, rows, buffers_.projected, sizes_.output);
  } else if (w.mixture != nullptr) {
    mixture_pass_->run(*w.mixture, buffers_.normed, rows, buffers_.projected, sizes_.output);
  }
  for_rows([&](int row) { add_output(w.mlp_output_norm, row); });
  if (w.input != nullptr) {
    layer_inputs_->add(layer, *w.input, rows, buffers_.residual, buffers_.projected, sizes_.output,
                       buffers_.quantized);
  }
  if (w.scale == 1) return;
  for_rows([&](int row) {
    kernels_.multiply(buffers_.residual + size_t(row) * config_.hidden_size, w.scale,
                      config_.hidden_size);
  });
}

void Transformer::run_mlp(const LayerWeights& w) {
  multiply(
      product(w.gate_up, buffers_.normed, config_.hidden_size, buffers_.gate_up, sizes_.gate_up));
  const ActivationKernel activate = activation_kernel(config_.activation, kernels_);
  float* const gates = buffers_.gate_up + w.gate_up.offset[0];
  const float* const ups = buffers_.gate_up + w.gate_up.offset[1];
  const Product down = product(w.down, gates, sizes_.gate_up, buffers_.projected, sizes_.output);
  multiplier_.set_inputs({&down, 1}, [&](int, int row, int begin, int end) {
    float* gate = gates + row * sizes_.gate_up + begin;
    activate(gate, ups + row * sizes_.gate_up + begin, end - begin, gate);
  });
  multiplier_.multiply({&down, 1});
}

void Transformer::keep_output_rows(float* buffer, size_t stride) {
  size_t kept = 0;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row].output) continue;
    if (kept != row) {
      std::memcpy(buffers_.residual + kept * config_.hidden_size,
                  buffers_.residual + row * config_.hidden_size,
                  config_.hidden_size * sizeof(float));
      std::memcpy(buffer + kept * stride, buffer + row * stride, stride * sizeof(float));
      if (layer_inputs_) layer_inputs_->move(static_cast<int>(row), static_cast<int>(kept));
      rows_[kept] = rows_[row];
    }
    ++kept;
  }
  rows_.resize(kept);
  if (config_.last_state_layer() == config_.layers - 1) return;
  for_rows([&](int row) { angles_.set(row, rows_[row].rope_position); });
}

void Transformer::logits(const float* hidden, int rows, float* logits) {
  const PackedMatrix& head = weights_.lm_head();
  const int vocab = config_.vocab_size;
  const int per_task = std::max(4, round_up(head.panels() / (pool_.threads() * 8), 4));
  // The number of rows of one product, such that its padded output fits the buffer below.
  constexpr int kRows = 16;
  const size_t stride = head.n_padded;
  std::vector<float> padded(vocab % kPanelChannels == 0 ? 0 : stride * kRows);
  for (int begin = 0; begin < rows; begin += kRows) {
    const int count = std::min(kRows, rows - begin);
    float* out = padded.empty() ? logits + begin * stride : padded.data();
    const float* input = hidden + size_t(begin) * config_.hidden_size;
    for (int row = 0; row < count && head.quantized(); ++row) {
      kernels_.quantize_row({input + size_t(row) * config_.hidden_size, head.k, buffers_.quantized,
                             count, row, is_k_quant(head.type), 0, head.groups()});
    }
    pool_.run((head.panels() + per_task - 1) / per_task, [&](int task, int thread) {
      const int end = std::min(head.panels(), (task + 1) * per_task);
      multiplier_.multiply_panels(head, input, config_.hidden_size, buffers_.quantized, count, out,
                                  stride, task * per_task, end, thread);
      const int begin_channel = task * per_task * kPanelChannels;
      for (int row = 0; row < count; ++row) {
        finish_logits(config_, kernels_, out + row * stride + begin_channel,
                      end * kPanelChannels - begin_channel);
      }
    });
    for (int row = 0; row < count; ++row) {
      float* const of_row = logits + (begin + row) * size_t(vocab);
      if (!padded.empty()) std::copy_n(out + row * stride, vocab, of_row);
      // Integer products lose NaN and infinity.
      const float* const from = input + size_t(row) * config_.hidden_size;
      if (all_finite({from, size_t(config_.hidden_size)})) continue;
      std::fill_n(of_row, vocab, std::numeric_limits<float>::quiet_NaN());
    }
  }
}

}  // namespace cascade
