// The decoder, layer by layer. Every loop over rows or panels is shared out by the pool; every sum
// lives inside one kernel call, so that sharing changes no bit.
#include "model/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>

#include "base/check.h"
#include "base/checked.h"
#include "base/number_types.h"
#include "kernels/kv_format.h"
#include "kernels/page_index.h"
#include "kernels/quantized_rows.h"
#include "model/activations.h"
#include "model/row_parts.h"

namespace cascade {
namespace {

// Whether some matrix needs quantised input rows.
bool has_quantized(const Weights& weights) {
  return weights.lm_head().quantized() ||
         std::ranges::any_of(weights.layers, [](const LayerWeights& w) {
           return std::ranges::any_of(w.stacks(), &StackedMatrix::quantized);
         });
}

// Memory for all activations but the scratch memory of threads.
PackedMemory activation_memory(const ActivationSizes& sizes, int rows) {
  const size_t floats = sizes.floats(rows, /*threads=*/0);
  auto memory = PackedMemory::allocate(floats * sizeof(float) + sizes.quantized_bytes);
  if (!memory.ok()) throw std::bad_alloc();
  return *std::move(memory);
}

void finish_logits(const ModelConfig& config, const Kernels& kernels, float* logits, int count) {
  if (config.logit_multiplier != 1) kernels.multiply(logits, config.logit_multiplier, count);
  if (config.logit_soft_cap > 0) kernels.soft_cap(logits, config.logit_soft_cap, count);
}

}  // namespace

KvLayout kv_layout(const ModelConfig& config, KvType type) {
  KvLayout layout;
  layout.type = type;
  layout.layers = config.layers;
  layout.kv_heads = config.kv_heads;
  layout.head_dim = config.head_dim;
  // Whole cache lines, so that every block is aligned.
  layout.key_block_bytes = round_up(key_block_bytes(type, config.head_dim), size_t{64});
  layout.value_block_bytes = round_up(value_block_bytes(type, config.head_dim), size_t{64});
  layout.page_index_bytes = page_index_bytes(config.head_dim) + sizeof(uint64_t);
  return layout;
}

Transformer::Transformer(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
                         const KvLayout& layout, ThreadPool& pool)
    : config_(config),
      weights_(weights),
      kernels_(kernels),
      layout_(layout),
      pool_(pool),
      attention_pass_(config_, kernels, layout, pool),
      multiplier_(kernels, pool, has_quantized(weights) ? largest_input(config) : 0),
      memory_(
          activation_memory(activation_sizes(config, has_quantized(weights), kRowsMax), kRowsMax)) {
  const ActivationSizes sizes = activation_sizes(config, has_quantized(weights), kRowsMax);
  const int rotary_dim = config.rope.rotary_dim(config.head_dim);
  ropes_.emplace_back(config.rope, rotary_dim);
  if (sizes.ropes > 1) ropes_.emplace_back(config.local_rope, rotary_dim);
  // Parts fused into one tensor take less than these sizes, which are for separate parts.
  qkv_stride_ = size_t(weights.layers.front().qkv.n_padded());
  gate_up_stride_ = sizes.gate_up;
  CHECK(qkv_stride_ <= sizes.qkv);
  if (!config_.mixture.layers.empty()) {
    mixture_pass_.emplace(config_, kernels_, pool_, multiplier_, has_quantized(weights), kRowsMax);
  }
  angles_stride_ = sizes.angles;
  output_stride_ = sizes.output;
  attention_stride_ = sizes.attention;
  float* next = reinterpret_cast<float*>(memory_.data());
  const auto take = [&next](size_t floats) { return std::exchange(next, next + floats); };
  residual_ = take(sizes.hidden * kRowsMax);
  normed_ = take(sizes.hidden * kRowsMax);
  qkv_ = take(qkv_stride_ * kRowsMax);
  attention_ = take(attention_stride_ * kRowsMax);
  gate_up_ = take(gate_up_stride_ * kRowsMax);
  projected_ = take(output_stride_ * kRowsMax);
  cos_ = take(sizes.angles * kRowsMax * sizes.ropes);
  sin_ = take(sizes.angles * kRowsMax * sizes.ropes);
  if (has_quantized(weights)) quantized_ = reinterpret_cast<uint8_t*>(next);
}

Status Transformer::forward(std::span<const Slice> slices, float* hidden) {
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
    RETURN_IF_ERROR(run_pass(slices, done, take, hidden));
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
  const int rows = static_cast<int>(rows_.size());
  // With few rows, tasks are smaller, so that every thread has one.
  const int share = (rows + pool_.threads() - 1) / pool_.threads();
  const int per_task = std::clamp(share, 1, kRowBlock);
  pool_.run((rows + per_task - 1) / per_task, [&](int task, int) {
    const int end = std::min(rows, (task + 1) * per_task);
    for (int row = task * per_task; row < end; ++row) body(row);
  });
}

Status Transformer::run_pass(std::span<const Slice> slices, std::span<const int> skip,
                             std::span<const int> take, float* hidden) {
  rows_.clear();
  for (size_t i = 0; i < slices.size(); ++i) {
    const Slice& slice = slices[i];
    const auto size = static_cast<int64_t>(slice.token_ids.size());
    CHECK(slice.position >= 0 && slice.outputs >= 0 && slice.outputs <= size);
    CHECK(slice.position <= static_cast<int64_t>(slice.pages.size()) * kPageTokens - size);
    for (int row = skip[i]; row < skip[i] + take[i]; ++row) {
      rows_.push_back({static_cast<int>(i), slice.position + row, row >= size - slice.outputs});
    }
  }
  embed(slices);
  attention_pass_.begin(rows_, slices);
  Status done = run_layers(slices);
  attention_pass_.end();
  RETURN_IF_ERROR(std::move(done));
  for_rows([&](int row) {
    kernels_.rms_norm(residual_ + size_t(row) * config_.hidden_size, weights_.final_norm.data(),
                      config_.rms_norm_eps, config_.hidden_size,
                      hidden + size_t(row) * config_.hidden_size);
  });
  return {};
}

Status Transformer::run_layers(std::span<const Slice> slices) {
  for (int layer = 0; layer < config_.layers; ++layer) {
    const LayerWeights& w = weights_.layers[layer];
    project_qkv(w, slices, layer);
    RETURN_IF_ERROR(attention_pass_.index_pages(layer));
    if (layer == config_.layers - 1) {
      // The last layer's K and V are written; from here on only the wanted rows matter.
      keep_output_rows();
      if (rows_.empty()) return {};
      attention_pass_.keep(rows_);
    }
    const float* sinks = w.sink_logits.empty() ? nullptr : w.sink_logits.data();
    RETURN_IF_ERROR(attention_pass_.attend(layer, {qkv_ + w.qkv.offset[0], qkv_stride_, sinks},
                                           {attention_, attention_stride_}));
    finish_layer(w);
    if (observer_) observer_(layer, rows_, residual_);
  }
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
    float* residual = residual_ + size_t(row) * hidden;
    get_row(weights_.embedding, ids[row], residual);
    if (weights_.embedding_multiplier != 1) {
      kernels_.multiply(residual, weights_.embedding_multiplier, hidden);
    }
    for (size_t i = 0; i < ropes_.size(); ++i) {
      const size_t angles = (i * kRowsMax + size_t(row)) * angles_stride_;
      ropes_[i].angles(rows_[row].position, cos_ + angles, sin_ + angles);
    }
  });
}

Product Transformer::product(const StackedMatrix& w, const float* x, size_t x_stride, float* y,
                             size_t y_stride) const {
  return {&w, x, x_stride, static_cast<int>(rows_.size()), quantized_, y, y_stride};
}

void Transformer::multiply(const Product& product) {
  if (product.w->quantized()) multiplier_.set_inputs({&product, 1}, [](int, int, int, int) {});
  multiplier_.multiply({&product, 1});
}

void Transformer::norm_input(const std::vector<float>& norm, int row) {
  const int hidden = config_.hidden_size;
  const float* residual = residual_ + size_t(row) * hidden;
  float* normed = normed_ + size_t(row) * hidden;
  if (norm.empty()) {
    std::copy_n(residual, hidden, normed);
  } else {
    kernels_.rms_norm(residual, norm.data(), config_.rms_norm_eps, hidden, normed);
  }
}

void Transformer::norm_heads(const LayerWeights& w, float* q, float* k) const {
  const auto norm = [&](const std::vector<float>& weight, int heads, float* x) {
    // All heads have one norm together, or each head is normed by itself.
    const int size = static_cast<int>(weight.size());
    for (int i = 0; i < heads * config_.head_dim; i += size) {
      kernels_.rms_norm(x + i, weight.data(), config_.rms_norm_eps, size, x + i);
    }
  };
  norm(w.query_norm, config_.query_heads, q);
  norm(w.key_norm, config_.kv_heads, k);
}

void Transformer::project_qkv(const LayerWeights& w, std::span<const Slice> slices, int layer) {
  const int dim = config_.head_dim;
  for_rows([&](int row) { norm_input(w.attention_norm, row); });
  multiply(product(w.qkv, normed_, config_.hidden_size, qkv_, qkv_stride_));
  const LayerRope rope = config_.layer_rope[layer];
  const size_t first_angles = rope == LayerRope::kLocal ? kRowsMax * angles_stride_ : 0;
  const int rotary_dim = config_.rope.rotary_dim(dim);
  for_rows([&](int r) {
    const Row& row = rows_[r];
    float* q = qkv_ + r * qkv_stride_ + w.qkv.offset[0];
    float* k = qkv_ + r * qkv_stride_ + w.qkv.offset[1];
    const float* v = qkv_ + r * qkv_stride_ + w.qkv.offset[2];
    if (config_.qk_norm != QkNorm::kNone) norm_heads(w, q, k);
    if (rope != LayerRope::kNone) {
      const float* cos = cos_ + first_angles + r * angles_stride_;
      const float* sin = sin_ + first_angles + r * angles_stride_;
      kernels_.rope(q, config_.query_heads, dim, rotary_dim, cos, sin);
      kernels_.rope(k, config_.kv_heads, dim, rotary_dim, cos, sin);
    }
    const float scale = config_.query_scale(row.position);
    if (scale != 1) kernels_.multiply(q, scale, config_.query_heads * dim);
    uint8_t* page = slices[row.slice].pages[row.position / kPageTokens];
    CHECK(page != nullptr);
    for (int head = 0; head < config_.kv_heads; ++head) {
      kernels_.write_kv(layout_.type, dim, static_cast<int>(row.position % kPageTokens),
                        k + size_t(head) * dim, v + size_t(head) * dim,
                        page + layout_.key_offset(layer, head),
                        page + layout_.value_offset(layer, head));
    }
  });
}

void Transformer::add_output(const std::vector<float>& norm, int row) {
  const int hidden = config_.hidden_size;
  float* output = projected_ + row * output_stride_;
  if (!norm.empty()) {
    kernels_.rms_norm(output, norm.data(), config_.rms_norm_eps, hidden, output);
  }
  if (config_.residual_multiplier != 1) {
    kernels_.multiply(output, config_.residual_multiplier, hidden);
  }
  kernels_.add(residual_ + size_t(row) * hidden, output, hidden);
}

void Transformer::finish_layer(const LayerWeights& w) {
  multiply(product(w.output, attention_, attention_stride_, projected_, output_stride_));
  for_rows([&](int row) {
    add_output(w.attention_output_norm, row);
    norm_input(w.mlp_norm, row);
  });
  if (w.mixture != nullptr) {
    mixture_pass_->run(*w.mixture, normed_, static_cast<int>(rows_.size()), projected_,
                       output_stride_);
  } else {
    run_mlp(w);
  }
  for_rows([&](int row) { add_output(w.mlp_output_norm, row); });
}

void Transformer::run_mlp(const LayerWeights& w) {
  multiply(product(w.gate_up, normed_, config_.hidden_size, gate_up_, gate_up_stride_));
  const ActivationKernel activate = activation_kernel(config_.activation, kernels_);
  float* const gates = gate_up_ + w.gate_up.offset[0];
  const float* const ups = gate_up_ + w.gate_up.offset[1];
  const Product down = product(w.down, gates, gate_up_stride_, projected_, output_stride_);
  multiplier_.set_inputs({&down, 1}, [&](int, int row, int begin, int end) {
    float* gate = gates + row * gate_up_stride_ + begin;
    activate(gate, ups + row * gate_up_stride_ + begin, end - begin, gate);
  });
  multiplier_.multiply({&down, 1});
}

void Transformer::keep_output_rows() {
  size_t kept = 0;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row].output) continue;
    if (kept != row) {
      std::memcpy(residual_ + kept * config_.hidden_size, residual_ + row * config_.hidden_size,
                  config_.hidden_size * sizeof(float));
      std::memcpy(qkv_ + kept * qkv_stride_, qkv_ + row * qkv_stride_, qkv_stride_ * sizeof(float));
      rows_[kept] = rows_[row];
    }
    ++kept;
  }
  rows_.resize(kept);
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
      kernels_.quantize_row({input + size_t(row) * config_.hidden_size, head.k, quantized_, count,
                             row, is_k_quant(head.type), 0, head.groups()});
    }
    pool_.run((head.panels() + per_task - 1) / per_task, [&](int task, int thread) {
      const int end = std::min(head.panels(), (task + 1) * per_task);
      multiplier_.multiply_panels(head, input, config_.hidden_size, quantized_, count, out, stride,
                                  task * per_task, end, thread);
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
