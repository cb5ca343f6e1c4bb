// The decoder, layer by layer. Every loop over rows or panels is shared out by the pool; every sum
// lives inside one kernel call, so that sharing changes no bit.
#include "model/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/checked.h"
#include "kernels/kv_format.h"
#include "kernels/quantized_rows.h"
#include "model/activations.h"

namespace cascade {

KvLayout kv_layout(const ModelConfig& config, KvType type) {
  KvLayout layout;
  layout.type = type;
  layout.layers = config.layers;
  layout.kv_heads = config.kv_heads;
  layout.head_dim = config.head_dim;
  // Whole cache lines, so that every block is aligned.
  layout.key_block_bytes = round_up(key_block_bytes(type, config.head_dim), size_t{64});
  layout.value_block_bytes = round_up(value_block_bytes(type, config.head_dim), size_t{64});
  return layout;
}

Transformer::Transformer(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
                         const KvLayout& layout, ThreadPool& pool)
    : config_(config),
      weights_(weights),
      kernels_(kernels),
      layout_(layout),
      pool_(pool),
      rope_(config.rope, config.head_dim) {
  const bool quantized =
      weights.layers.front().qkv.matrix.quantized() || weights.lm_head().quantized();
  const ActivationSizes sizes = activation_sizes(config, quantized, kRowsMax);
  qkv_stride_ = sizes.qkv;
  gate_up_stride_ = sizes.gate_up;
  output_stride_ = sizes.output;
  attention_stride_ = sizes.attention;
  memory_ = allocate_aligned(sizes.floats(kRowsMax, pool.threads()) * sizeof(float));
  float* next = reinterpret_cast<float*>(memory_.get());
  const auto take = [&next](size_t floats) { return std::exchange(next, next + floats); };
  residual_ = take(sizes.hidden * kRowsMax);
  normed_ = take(sizes.hidden * kRowsMax);
  qkv_ = take(qkv_stride_ * kRowsMax);
  attention_ = take(attention_stride_ * kRowsMax);
  gate_up_ = take(gate_up_stride_ * kRowsMax);
  projected_ = take(output_stride_ * kRowsMax);
  cos_ = take(sizes.angles * kRowsMax);
  sin_ = take(sizes.angles * kRowsMax);
  scratch_ = take(sizes.attention_scratch * pool.threads());
  if (!quantized) return;
  quantized_ = allocate_aligned(sizes.quantized_bytes);
  expanded_bytes_ = sizes.expanded_bytes;
  expanded_ = allocate_aligned(expanded_bytes_ * pool.threads());
}

void Transformer::forward(std::span<const Slice> slices, float* hidden) {
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
    run_pass(slices, done, take, hidden);
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
}

template <class Body>
void Transformer::for_rows(const Body& body) {
  const int rows = static_cast<int>(rows_.size());
  // Many rows: a block of quantised rows, which lie interleaved. Few: something for every thread.
  const int share = (rows + pool_.threads() - 1) / pool_.threads();
  const int per_task = std::clamp(share, 1, kRowBlock);
  pool_.run((rows + per_task - 1) / per_task, [&](int task, int) {
    const int end = std::min(rows, (task + 1) * per_task);
    for (int row = task * per_task; row < end; ++row) body(row);
  });
}

void Transformer::run_pass(std::span<const Slice> slices, std::span<const int> skip,
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
  plan_attention(slices);
  for (int layer = 0; layer < config_.layers; ++layer) {
    const LayerWeights& w = weights_.layers[layer];
    project_qkv(w, slices, layer);
    if (layer == config_.layers - 1) {
      // The last layer's K and V are written; beyond them only the wanted rows matter.
      keep_output_rows();
      if (rows_.empty()) return;
      plan_attention(slices);
    }
    attend(slices, layer);
    finish_layer(w);
    if (observer_) observer_(layer, rows_, residual_);
  }
  for_rows([&](int row) {
    kernels_.rms_norm(residual_ + size_t(row) * config_.hidden_size, weights_.final_norm.data(),
                      config_.rms_norm_eps, config_.hidden_size,
                      hidden + size_t(row) * config_.hidden_size);
  });
}

void Transformer::embed(std::span<const Slice> slices) {
  std::vector<int32_t> ids;
  for (const Row& row : rows_) {
    const Slice& slice = slices[row.slice];
    ids.push_back(slice.token_ids[row.position - slice.position]);
    CHECK(ids.back() >= 0 && ids.back() < config_.vocab_size);
  }
  const size_t half = round_up(config_.head_dim / 2, 16);
  for_rows([&](int row) {
    get_row(weights_.embedding, ids[row], residual_ + size_t(row) * config_.hidden_size);
    rope_.angles(rows_[row].position, cos_ + row * half, sin_ + row * half);
  });
}

void Transformer::plan_attention(std::span<const Slice> slices) {
  const int rows = static_cast<int>(rows_.size());
  attention_order_.resize(rows);
  std::iota(attention_order_.begin(), attention_order_.end(), 0);
  // Sequences with common pages next to each other; the rows of one sequence stay in order.
  std::ranges::stable_sort(attention_order_, [&](int a, int b) {
    if (rows_[a].slice == rows_[b].slice) return false;
    const KvPages left = slices[rows_[a].slice].pages, right = slices[rows_[b].slice].pages;
    return std::ranges::lexicographical_compare(left, right);
  });
  const int group = config_.query_heads / config_.kv_heads;
  const int pairs = rows * group;
  // As many rows at a time as one tile can serve, but work for every thread.
  const int tasks_per_head = (pool_.threads() + config_.kv_heads - 1) / config_.kv_heads;
  const int share = (pairs + tasks_per_head - 1) / tasks_per_head;
  const int per_task = std::clamp(share, 1, kAttentionRowsMax);
  attention_tasks_.clear();
  for (int head = 0; head < config_.kv_heads; ++head) {
    for (int pair = 0; pair < pairs; pair += per_task) {
      attention_tasks_.push_back({head, pair, std::min(pairs, pair + per_task)});
    }
  }
}

void Transformer::set_input(const PackedMatrix& w, const float* x, int rows, int row) {
  if (w.quantized()) kernels_.quantize_row(x, w.k, quantized_.get(), rows, row);
}

void Transformer::multiply(const PackedMatrix& w, const float* x, size_t x_stride, int rows,
                           float* y, int panel_begin, int panel_end, int thread) {
  const size_t y_stride = w.n_padded;
  if (w.quantized()) {
    kernels_.quantized_gemm({&w, quantized_.get(), y, y_stride, rows, panel_begin, panel_end,
                             expanded_.get() + thread * expanded_bytes_});
  } else {
    kernels_.gemm({&w, x, x_stride, y, y_stride, rows, panel_begin, panel_end});
  }
}

void Transformer::gemm(const StackedMatrix& w, const float* x, size_t x_stride, int rows,
                       float* y) {
  const int panels = w.matrix.panels();
  // Several tasks a thread even out their finishing; whole register tiles keep kernels efficient.
  const int per_task = std::max(4, round_up(panels / (pool_.threads() * 4), 4));
  const size_t y_stride = w.matrix.n_padded;
  pool_.run((panels + per_task - 1) / per_task, [&](int task, int thread) {
    const int begin = task * per_task, end = std::min(panels, begin + per_task);
    multiply(w.matrix, x, x_stride, rows, y, begin, end, thread);
    if (w.bias.empty()) return;
    const int offset = begin * kPanelChannels, count = (end - begin) * kPanelChannels;
    for (int row = 0; row < rows; ++row) {
      kernels_.add(y + row * y_stride + offset, w.bias.data() + offset, count);
    }
  });
}

void Transformer::project_qkv(const LayerWeights& w, std::span<const Slice> slices, int layer) {
  const int hidden = config_.hidden_size, dim = config_.head_dim;
  const int rows = static_cast<int>(rows_.size());
  for_rows([&](int row) {
    float* normed = normed_ + size_t(row) * hidden;
    kernels_.rms_norm(residual_ + size_t(row) * hidden, w.attention_norm.data(),
                      config_.rms_norm_eps, hidden, normed);
    set_input(w.qkv.matrix, normed, rows, row);
  });
  gemm(w.qkv, normed_, hidden, rows, qkv_);
  const size_t half = round_up(dim / 2, 16);
  for_rows([&](int r) {
    const Row& row = rows_[r];
    float* q = qkv_ + r * qkv_stride_ + w.qkv.offset[0];
    float* k = qkv_ + r * qkv_stride_ + w.qkv.offset[1];
    const float* v = qkv_ + r * qkv_stride_ + w.qkv.offset[2];
    if (config_.qk_norm) {
      for (int head = 0; head < config_.query_heads; ++head) {
        kernels_.rms_norm(q + size_t(head) * dim, w.query_norm.data(), config_.rms_norm_eps, dim,
                          q + size_t(head) * dim);
      }
      for (int head = 0; head < config_.kv_heads; ++head) {
        kernels_.rms_norm(k + size_t(head) * dim, w.key_norm.data(), config_.rms_norm_eps, dim,
                          k + size_t(head) * dim);
      }
    }
    kernels_.rope(q, config_.query_heads, dim, cos_ + r * half, sin_ + r * half);
    kernels_.rope(k, config_.kv_heads, dim, cos_ + r * half, sin_ + r * half);
    uint8_t* page = slices[row.slice].pages[row.position / kPageTokens];
    for (int head = 0; head < config_.kv_heads; ++head) {
      kernels_.write_kv(layout_.type, dim, static_cast<int>(row.position % kPageTokens),
                        k + size_t(head) * dim, v + size_t(head) * dim,
                        page + layout_.key_offset(layer, head),
                        page + layout_.value_offset(layer, head));
    }
  });
}

void Transformer::attend(std::span<const Slice> slices, int layer) {
  const int dim = config_.head_dim;
  const int group = config_.query_heads / config_.kv_heads;
  const size_t scratch = round_up(attention_scratch_floats(dim), size_t{16});
  const int query_offset = weights_.layers[layer].qkv.offset[0];
  pool_.run(static_cast<int>(attention_tasks_.size()), [&](int index, int thread) {
    const AttentionTask& task = attention_tasks_[index];
    const float* queries[kAttentionRowsMax];
    float* outputs[kAttentionRowsMax];
    int32_t positions[kAttentionRowsMax];
    const uint8_t* const* pages[kAttentionRowsMax];
    for (int pair = task.pair_begin; pair < task.pair_end; ++pair) {
      const int row = attention_order_[pair / group];
      const int head = task.kv_head * group + pair % group;
      const int i = pair - task.pair_begin;
      queries[i] = qkv_ + row * qkv_stride_ + query_offset + size_t(head) * dim;
      outputs[i] = attention_ + row * attention_stride_ + size_t(head) * dim;
      positions[i] = static_cast<int32_t>(rows_[row].position);
      pages[i] = slices[rows_[row].slice].pages.data();
    }
    kernels_.attention({.kv_type = layout_.type,
                        .head_dim = dim,
                        .scale = 1.0f / std::sqrt(static_cast<float>(dim)),
                        .window = config_.window[layer],
                        .sinks = 0,
                        .pages = pages,
                        .key_offset = layout_.key_offset(layer, task.kv_head),
                        .value_offset = layout_.value_offset(layer, task.kv_head),
                        .rows = task.pair_end - task.pair_begin,
                        .queries = queries,
                        .positions = positions,
                        .outputs = outputs,
                        .scratch = scratch_ + thread * scratch});
  });
}

void Transformer::finish_layer(const LayerWeights& w) {
  const int hidden = config_.hidden_size;
  const int rows = static_cast<int>(rows_.size());
  if (w.output.matrix.quantized()) {
    for_rows([&](int row) {
      set_input(w.output.matrix, attention_ + row * attention_stride_, rows, row);
    });
  }
  gemm(w.output, attention_, attention_stride_, rows, projected_);
  for_rows([&](int row) {
    float* residual = residual_ + size_t(row) * hidden;
    float* normed = normed_ + size_t(row) * hidden;
    kernels_.add(residual, projected_ + row * output_stride_, hidden);
    kernels_.rms_norm(residual, w.mlp_norm.data(), config_.rms_norm_eps, hidden, normed);
    set_input(w.gate_up.matrix, normed, rows, row);
  });
  gemm(w.gate_up, normed_, hidden, rows, gate_up_);
  for_rows([&](int row) {
    float* gate = gate_up_ + row * gate_up_stride_ + w.gate_up.offset[0];
    const float* up = gate_up_ + row * gate_up_stride_ + w.gate_up.offset[1];
    kernels_.silu_mul(gate, up, config_.intermediate_size, gate);
    set_input(w.down.matrix, gate, rows, row);
  });
  gemm(w.down, gate_up_ + w.gate_up.offset[0], gate_up_stride_, rows, projected_);
  for_rows([&](int row) {
    kernels_.add(residual_ + size_t(row) * hidden, projected_ + row * output_stride_, hidden);
  });
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
  // Rows of one product: its padded output fits the buffer below.
  constexpr int kRows = 16;
  const size_t stride = head.n_padded;
  std::vector<float> padded(vocab % kPanelChannels == 0 ? 0 : stride * kRows);
  for (int begin = 0; begin < rows; begin += kRows) {
    const int count = std::min(kRows, rows - begin);
    float* out = padded.empty() ? logits + begin * stride : padded.data();
    const float* input = hidden + size_t(begin) * config_.hidden_size;
    for (int row = 0; row < count; ++row) {
      set_input(head, input + size_t(row) * config_.hidden_size, count, row);
    }
    pool_.run((head.panels() + per_task - 1) / per_task, [&](int task, int thread) {
      const int end = std::min(head.panels(), (task + 1) * per_task);
      multiply(head, input, config_.hidden_size, count, out, task * per_task, end, thread);
    });
    if (padded.empty()) continue;
    for (int row = 0; row < count; ++row) {
      std::copy_n(out + row * stride, vocab, logits + (begin + row) * size_t(vocab));
    }
  }
}

}  // namespace cascade
