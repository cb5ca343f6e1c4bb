// The plain computation follows transformers' GatedDeltaNet, MambaLayer and ShortConv classes,
// value by value.
#include "tests/model/recurrent_pass_testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/model/random_weights.h"

namespace cascade::testing {
namespace {

// All output channels of a stack, in f64.
std::vector<double> projected_row(const StackedMatrix& w, const float* x) {
  std::vector<double> y(static_cast<size_t>(w.n_padded()));
  std::vector<float> row(static_cast<size_t>(w.k()));
  for (size_t i = 0; i < y.size(); ++i) {
    get_row(w.matrices.front(), static_cast<int>(i), row.data());
    for (size_t k = 0; k < row.size(); ++k) y[i] += double{row[k]} * double{x[k]};
    if (!w.bias.empty()) y[i] += double{w.bias[i]};
  }
  return y;
}

std::vector<double> channels_of(const std::vector<double>& all, int begin, int size) {
  const auto first = all.begin() + begin;
  return {first, first + size};
}

double plain_sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double plain_softplus(double x) {
  return std::log1p(std::exp(x));
}

void make_length_one(double* vector, int n) {
  const double squares = std::inner_product(vector, vector + n, vector, 0.0);
  for (int i = 0; i < n; ++i) vector[i] /= std::sqrt(squares + 1e-6);
}

void norm_in_place(double* x, const std::vector<float>& weight, double eps) {
  const auto n = static_cast<double>(weight.size());
  const double squares = std::inner_product(x, x + weight.size(), x, 0.0);
  for (size_t i = 0; i < weight.size(); ++i) {
    x[i] *= double{weight[i]} / std::sqrt(squares / n + eps);
  }
}

}  // namespace

std::vector<RecurrentCase> recurrent_cases() {
  return {{"convolution", Recurrence::kConvolution, false, 3},
          {"delta net, apart", Recurrence::kDeltaNet, false, 4},
          {"delta net, together", Recurrence::kDeltaNet, true, 4},
          {"mamba", Recurrence::kMamba, false, 4}};
}

ModelConfig recurrent_model(const RecurrentCase& kind) {
  ModelConfig config;
  config.layers = 3;
  config.hidden_size = 40;
  config.rms_norm_eps = 1e-5f;
  RecurrentConfig& recurrent = config.recurrent;
  recurrent = {.layers = {true, false, true},
               .kind = kind.kind,
               .taps = kind.taps,
               .channels = config.hidden_size,
               .convolution_bias = kind.kind != Recurrence::kDeltaNet,
               .projection_bias = kind.kind != Recurrence::kDeltaNet};
  if (kind.kind == Recurrence::kConvolution) return config;
  recurrent.key_heads = 2;
  recurrent.value_heads = 4;
  recurrent.key_dim = 16;
  recurrent.value_dim = 72;  // more columns than a task scans
  if (kind.kind == Recurrence::kMamba) {
    recurrent.key_dim = 24;
    recurrent.step_min = 0.3f;
    recurrent.step_max = 0.9f;
  }
  recurrent.channels = 2 * recurrent.key_channels() + recurrent.value_channels();
  return config;
}

RandomRecurrence::RandomRecurrence(const ModelConfig& config, const RecurrentCase& kind,
                                   Random& random, WeightType type) {
  const RecurrentConfig& recurrent = config.recurrent;
  const int channels = recurrent.channels, values = recurrent.value_channels();
  const int heads = recurrent.value_heads, hidden = config.hidden_size;
  std::vector<int> parts = {3 * hidden};
  if (kind.kind == Recurrence::kMamba) parts = {values + channels + heads};
  if (kind.kind == Recurrence::kDeltaNet) parts = {channels, values};
  if (kind.together) parts = {channels + values};
  weights.input = random_stack(random, parts, hidden, memory, type);
  if (recurrent.projection_bias) {
    weights.input.bias = random_vector(random, weights.input.n_padded(), 0, 1);
  }
  if (kind.kind == Recurrence::kDeltaNet) {
    parts = kind.together ? std::vector<int>{2 * heads} : std::vector<int>{heads, heads};
    weights.steps = random_stack(random, parts, hidden, memory);
  }
  weights.taps = random_vector(random, recurrent.taps * channels, 0, 2);
  if (recurrent.convolution_bias) weights.taps_bias = random_vector(random, channels, 0, 1);
  if (kind.kind == Recurrence::kConvolution) return;
  weights.decay_rate = random_vector(random, heads, -0.6, 1);
  weights.step_bias = random_vector(random, heads, 0, 2);
  const bool is_mamba = kind.kind == Recurrence::kMamba;
  if (is_mamba) weights.skip = random_vector(random, heads, 0, 2);
  weights.norm = random_vector(random, is_mamba ? values : recurrent.value_dim, 1);
}

int recurrent_output_width(const ModelConfig& config) {
  const RecurrentConfig& recurrent = config.recurrent;
  return recurrent.kind == Recurrence::kConvolution ? recurrent.channels
                                                    : recurrent.value_channels();
}

PlainRecurrence::PlainRecurrence(const ModelConfig& config, const RecurrentWeights& w)
    : config_(config),
      recurrent_(config.recurrent),
      w_(w),
      inputs_(size_t(recurrent_.taps - 1), std::vector<double>(size_t(recurrent_.channels))),
      matrices_(size_t(recurrent_.value_channels()) * size_t(recurrent_.key_dim)) {}

std::vector<double> PlainRecurrence::step(const float* x) {
  const Projected projected = project(x);
  const std::vector<double> convolved = convolve(projected.input);
  if (recurrent_.kind != Recurrence::kConvolution) {
    return gated(scan(convolved, projected), projected.gate);
  }
  std::vector<double> out = projected.gate;
  for (size_t i = 0; i < out.size(); ++i) out[i] *= convolved[i];
  return out;
}

PlainRecurrence::Projected PlainRecurrence::project(const float* x) const {
  if (recurrent_.kind == Recurrence::kDeltaNet) return project_delta(x);
  const std::vector<double> all = projected_row(w_.input, x);
  if (recurrent_.kind == Recurrence::kMamba) return project_mamba(all);
  const int n = recurrent_.channels;
  Projected out;
  out.input = channels_of(all, 2 * n, n);
  for (int i = 0; i < n; ++i) out.input[size_t(i)] *= all[size_t(i)];
  out.gate = channels_of(all, n, n);
  return out;
}

PlainRecurrence::Projected PlainRecurrence::project_mamba(const std::vector<double>& all) const {
  const int values = recurrent_.value_channels(), channels = recurrent_.channels;
  Projected out;
  out.gate = channels_of(all, 0, values);
  out.input = channels_of(all, values, channels);
  for (int head = 0; head < recurrent_.value_heads; ++head) {
    const double logit = all[size_t(values + channels + head)] + double{w_.step_bias[size_t(head)]};
    const double step =
        std::clamp(plain_softplus(logit), double{recurrent_.step_min}, double{recurrent_.step_max});
    out.rates.push_back(step);
    out.decays.push_back(std::exp(step * double{w_.decay_rate[size_t(head)]}));
  }
  return out;
}

PlainRecurrence::Projected PlainRecurrence::project_delta(const float* x) const {
  const std::vector<double> all = projected_row(w_.input, x);
  const std::vector<double> steps = projected_row(w_.steps, x);
  const int key_dim = recurrent_.key_dim, value_dim = recurrent_.value_dim;
  const int served = recurrent_.value_heads / recurrent_.key_heads;
  const int keys = recurrent_.key_channels(), values = recurrent_.value_channels();
  const bool is_together = w_.input.offset.size() == 1;
  Projected out;
  out.input = channels_of(all, 0, recurrent_.channels);
  if (!is_together) out.gate = channels_of(all, w_.input.offset[1], values);
  const int of_group = 2 * key_dim + 2 * served * value_dim;
  for (int head = 0; head < recurrent_.key_heads && is_together; ++head) {
    const auto group = all.begin() + head * of_group;
    std::copy_n(group, key_dim, out.input.begin() + head * key_dim);
    std::copy_n(group + key_dim, key_dim, out.input.begin() + keys + head * key_dim);
    const auto of_values = group + 2 * key_dim, gates = of_values + served * value_dim;
    std::copy(of_values, gates, out.input.begin() + 2 * keys + head * served * value_dim);
    out.gate.insert(out.gate.end(), gates, gates + served * value_dim);
  }
  for (int head = 0; head < recurrent_.value_heads; ++head) {
    const int group = head / served, within = head % served;
    const int rate = is_together ? group * 2 * served + within : head;
    const int decay = is_together ? rate + served : w_.steps.offset[1] + head;
    out.rates.push_back(plain_sigmoid(steps[size_t(rate)]));
    const double step = plain_softplus(steps[size_t(decay)] + double{w_.step_bias[size_t(head)]});
    out.decays.push_back(std::exp(step * double{w_.decay_rate[size_t(head)]}));
  }
  return out;
}

std::vector<double> PlainRecurrence::convolve(const std::vector<double>& input) {
  inputs_.push_back(input);
  std::vector<double> out(input.size());
  for (size_t c = 0; c < out.size(); ++c) {
    if (!w_.taps_bias.empty()) out[c] = double{w_.taps_bias[c]};
    for (size_t tap = 0; tap < inputs_.size(); ++tap) {
      out[c] += inputs_[tap][c] * double{w_.taps[tap * out.size() + c]};
    }
    if (recurrent_.kind != Recurrence::kConvolution) out[c] *= plain_sigmoid(out[c]);
  }
  inputs_.erase(inputs_.begin());
  return out;
}

std::vector<double> PlainRecurrence::scan(const std::vector<double>& convolved,
                                          const Projected& projected) {
  const bool is_delta = recurrent_.kind == Recurrence::kDeltaNet;
  const int keys = recurrent_.key_channels(), values = recurrent_.value_channels();
  const int key_dim = recurrent_.key_dim, value_dim = recurrent_.value_dim;
  const int served = recurrent_.value_heads / recurrent_.key_heads;
  std::vector<double> out;
  for (int head = 0; head < recurrent_.value_heads; ++head) {
    const int of_key = head / served * key_dim;
    std::vector<double> query =
        channels_of(convolved, (is_delta ? 0 : values + keys) + of_key, key_dim);
    std::vector<double> key = channels_of(convolved, (is_delta ? keys : values) + of_key, key_dim);
    const std::vector<double> value =
        channels_of(convolved, (is_delta ? 2 * keys : 0) + head * value_dim, value_dim);
    if (is_delta) {
      make_length_one(query.data(), key_dim);
      make_length_one(key.data(), key_dim);
      for (double& q : query) q /= std::sqrt(double(key_dim));
    }
    double* const state = matrices_.data() + head * key_dim * value_dim;
    for (int c = 0; c < value_dim; ++c) {
      double known = 0, y = 0;
      for (int i = 0; i < key_dim; ++i) {
        state[i * value_dim + c] *= projected.decays[size_t(head)];
        known += state[i * value_dim + c] * key[size_t(i)];
      }
      const double change = value[size_t(c)] - (is_delta ? known : 0);
      for (int i = 0; i < key_dim; ++i) {
        state[i * value_dim + c] += key[size_t(i)] * change * projected.rates[size_t(head)];
        y += state[i * value_dim + c] * query[size_t(i)];
      }
      if (!is_delta) y += double{w_.skip[size_t(head)]} * value[size_t(c)];
      out.push_back(y);
    }
  }
  return out;
}

// The norm of each head, then the gate; in Mamba, the gate, then the norm of all.
std::vector<double> PlainRecurrence::gated(std::vector<double> y,
                                           const std::vector<double>& gate) const {
  const double eps = double{config_.rms_norm_eps};
  const bool is_delta = recurrent_.kind == Recurrence::kDeltaNet;
  for (int head = 0; head < recurrent_.value_heads && is_delta; ++head) {
    norm_in_place(y.data() + head * recurrent_.value_dim, w_.norm, eps);
  }
  for (size_t i = 0; i < y.size(); ++i) y[i] *= gate[i] * plain_sigmoid(gate[i]);
  if (!is_delta) norm_in_place(y.data(), w_.norm, eps);
  return y;
}

}  // namespace cascade::testing
