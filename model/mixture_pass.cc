// Each part of the uses of experts goes through both products of an MLP before the next part.
#include "model/mixture_pass.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "kernels/quantized_rows.h"
#include "model/activations.h"

namespace cascade {
namespace {

// The number of uses of experts that go through the products together. Their activations fit the
// caches, and an expert that more rows use loses little by being read again.
constexpr int kPartUses = 512;
// Tasks that add outputs have at least this number of channels: whole cache lines, and several.
constexpr int kChannelStep = 64;

int panels(int n) {
  return round_up(n, kPanelChannels);
}

// The largest number of channels of an expert.
int inner_size(const MixtureConfig& mixture) {
  return std::max(mixture.intermediate_size, mixture.shared_intermediate_size);
}

constexpr auto kPrepared = [](int, int, int, int) {};

}  // namespace

// The buffers' sizes for one row or use, in floats; `quantized` is in bytes, for a part.
struct MixturePass::Sizes {
  size_t logits, beside, gathered, gate_up, down, quantized;

  Sizes(const ModelConfig& config, bool has_quantized) {
    const int inner = inner_size(config.mixture);
    logits = size_t(panels(config.mixture.experts) + (config.mixture.shared_gate ? panels(1) : 0));
    gathered = size_t(panels(config.hidden_size));
    beside = config.mixture.beside_mlp ? gathered : 0;
    gate_up = 2 * size_t(panels(inner));
    down = gathered;
    // Where a group's rows do not fill their blocks, it takes up to twice their bytes.
    const size_t row = row_block_bytes(std::max(config.hidden_size, inner), 1);
    quantized = has_quantized ? 2 * row * kPartUses : 0;
  }
  size_t bytes(int rows_max) const {
    return ((logits + 2 * beside) * size_t(rows_max) + (gathered + gate_up + down) * kPartUses) *
               sizeof(float) +
           quantized;
  }
};

size_t MixturePass::bytes(const ModelConfig& config, bool quantized, int rows_max) {
  return config.mixture.layers.empty() ? 0 : Sizes(config, quantized).bytes(rows_max);
}

MixturePass::MixturePass(const ModelConfig& config, const Kernels& kernels, ThreadPool& pool,
                         MatrixMultiplier& multiplier, bool quantized, int rows_max)
    : config_(config),
      kernels_(kernels),
      pool_(pool),
      multiplier_(multiplier),
      choices_(size_t(pool.threads()), ExpertChoice(config.mixture)),
      memory_(PackedMemory::require(bytes(config, quantized, rows_max))) {
  const Sizes sizes(config, quantized);
  logits_stride_ = sizes.logits;
  gate_up_stride_ = sizes.gate_up;
  down_stride_ = sizes.down;
  float* next = reinterpret_cast<float*>(memory_.data());
  const auto take = [&next](size_t floats) { return std::exchange(next, next + floats); };
  logits_ = take(sizes.logits * size_t(rows_max));
  beside_ = take(2 * sizes.beside * size_t(rows_max));
  gathered_ = take(sizes.gathered * kPartUses);
  gate_up_ = take(sizes.gate_up * kPartUses);
  down_ = take(sizes.down * kPartUses);
  quantized_ = reinterpret_cast<uint8_t*>(next);
}

void MixturePass::run(const MixtureWeights& w, const float* x, int rows, float* out,
                      size_t out_stride) {
  route(w, x, rows);
  run_chosen(w, x, rows, out, out_stride);
}

void MixturePass::add(const MixtureWeights& w, const float* residual, int rows, float* out,
                      size_t out_stride) {
  const int hidden = config_.hidden_size;
  const float eps = config_.rms_norm_eps;
  float* const normed = beside_ + size_t(rows) * size_t(hidden);
  pool_.run(rows, [&](int row, int) {
    const size_t begin = size_t(row) * size_t(hidden);
    const float* const from = residual + begin;
    kernels_.rms_norm(from, w.beside.router_input.data(), eps, hidden, beside_ + begin);
    kernels_.rms_norm(from, w.beside.input.data(), eps, hidden, normed + begin);
  });
  route(w, beside_, rows);
  run_chosen(w, normed, rows, beside_, size_t(hidden));
  pool_.run(rows, [&](int row, int) {
    float* const of_mlp = out + size_t(row) * out_stride;
    float* const of_experts = beside_ + size_t(row) * size_t(hidden);
    kernels_.rms_norm(of_mlp, w.beside.mlp_output.data(), eps, hidden, of_mlp);
    kernels_.rms_norm(of_experts, w.beside.output.data(), eps, hidden, of_experts);
    kernels_.add(of_mlp, of_experts, hidden);
  });
}

void MixturePass::run_chosen(const MixtureWeights& w, const float* x, int rows, float* out,
                             size_t out_stride) {
  rows_.sort(chosen_, rows, config_.mixture.all_experts(), kPartUses);
  for (int row = 0; row < rows; ++row) {
    std::fill_n(out + size_t(row) * out_stride, config_.hidden_size, 0.0f);
  }
  for (int part = 0; part < rows_.parts(); ++part) {
    run_part(w, rows_.part(part), x);
    add_outputs(rows_.part(part), out, out_stride);
  }
}

void MixturePass::route(const MixtureWeights& w, const float* x, int rows) {
  const Product router = {&w.router,     x, size_t(config_.hidden_size), rows, nullptr, logits_,
                          logits_stride_};
  multiplier_.multiply({&router, 1});
  const MixtureConfig& mixture = config_.mixture;
  const auto each = size_t(mixture.all_chosen());
  chosen_.resize(size_t(rows) * each);
  const float* bias = w.choice_bias.empty() ? nullptr : w.choice_bias.data();
  pool_.run(rows, [&](int row, int thread) {
    const float* const logits = logits_ + size_t(row) * logits_stride_;
    const std::span chosen(chosen_.data() + size_t(row) * each, each);
    choices_[size_t(thread)].choose(logits, bias, chosen.data());
    for (ChosenExpert& choice :
         chosen.first(w.expert_scales.empty() ? 0 : size_t(mixture.chosen))) {
      choice.weight *= w.expert_scales[size_t(choice.expert)];
    }
    if (!mixture.has_shared()) return;
    const float weight = mixture.shared_gate ? router_sigmoid(logits[w.router.offset[1]]) : 1.0f;
    chosen.back() = {mixture.experts, weight};
  });
}

uint8_t* MixturePass::take_quantized(int rows, int k) {
  uint8_t* const taken = quantized_ + quantized_used_;
  quantized_used_ += quantized_rows_bytes(rows, k);
  return taken;
}

Product MixturePass::gate_up_product(const StackedMatrix& gate_up, const Group& group,
                                     int first_use, const float* x) {
  Product product = {&gate_up,       x, size_t(config_.hidden_size), group.count, nullptr, nullptr,
                     gate_up_stride_};
  const auto offset = size_t(group.begin - first_use);
  product.from = rows_.rows() + group.begin;
  product.y = gate_up_ + offset * gate_up_stride_;
  if (gate_up.takes_floats()) {
    product.x = gathered_ + offset * size_t(config_.hidden_size);
    product.from = nullptr;
  }
  if (!gate_up.quantized()) return product;
  // In decoding, most experts have one row, and most rows several such experts: that row is
  // quantised once.
  const auto same_input = [&](const Product& other) {
    return group.count == 1 && other.rows == 1 && product.from != nullptr &&
           other.from != nullptr && other.from[0] == product.from[0] &&
           other.w->has_k_quants() == gate_up.has_k_quants();
  };
  const auto found = std::ranges::find_if(inputs_, same_input);
  product.quantized =
      found != inputs_.end() ? found->quantized : take_quantized(group.count, config_.hidden_size);
  return product;
}

void MixturePass::run_part(const MixtureWeights& w, std::span<const Group> groups, const float* x) {
  const int first_use = groups.front().begin;
  inputs_.clear();
  products_.clear();
  quantized_used_ = 0;
  for (const Group& group : groups) {
    const size_t used_before = quantized_used_;
    const Product product = gate_up_product(w.gate_up[size_t(group.expert)], group, first_use, x);
    products_.push_back(product);
    if (quantized_used_ > used_before || product.from == nullptr) inputs_.push_back(product);
  }
  const auto hidden = size_t(config_.hidden_size);
  multiplier_.set_inputs(inputs_, [&](int index, int row, int begin, int end) {
    const Product& input = inputs_[size_t(index)];
    if (input.from != nullptr) return;
    const auto offset = size_t(input.x - gathered_) / hidden + size_t(row);
    const float* const source = x + size_t(rows_.row(first_use + int(offset))) * hidden;
    std::copy(source + begin, source + end, gathered_ + offset * hidden + begin);
  });
  multiplier_.multiply(products_);

  products_.clear();
  quantized_used_ = 0;
  for (const Group& group : groups) {
    const StackedMatrix& down = w.down[size_t(group.expert)];
    const auto offset = size_t(group.begin - first_use);
    uint8_t* const quantized = down.quantized() ? take_quantized(group.count, down.k()) : nullptr;
    products_.push_back({&down, gate_up_ + offset * gate_up_stride_, gate_up_stride_, group.count,
                         quantized, down_ + offset * down_stride_, down_stride_});
  }
  const ActivationKernel activate = activation_kernel(config_.activation, kernels_);
  multiplier_.set_inputs(products_, [&](int index, int row, int begin, int end) {
    const Group& group = groups[size_t(index)];
    const auto offset = size_t(group.begin - first_use + row);
    float* const gate = gate_up_ + offset * gate_up_stride_ + begin;
    activate(gate, gate + w.gate_up[size_t(group.expert)].offset[1], end - begin, gate);
  });
  multiplier_.multiply(products_);
}

void MixturePass::add_outputs(std::span<const Group> groups, float* out, size_t out_stride) {
  const int first = groups.front().begin;
  const int last = groups.back().begin + groups.back().count;
  const int hidden = config_.hidden_size;
  const int step = std::max(kChannelStep, round_up(hidden / pool_.threads(), kChannelStep));
  pool_.run((hidden + step - 1) / step, [&](int task, int) {
    const int begin = task * step, end = std::min(hidden, begin + step);
    for (int use = first; use < last; ++use) {
      kernels_.add_scaled(out + size_t(rows_.row(use)) * out_stride + begin,
                          down_ + size_t(use - first) * down_stride_ + begin, rows_.weight(use),
                          end - begin);
    }
  });
}

}  // namespace cascade
