// Rounding to K-quants. Runs once for each weight of a model, on all threads; loops are written so
// that the compiler can use vectors.
//
// For fixed scales and offsets each q is a division and a rounding; for fixed q, the best scale and
// offset are the solution of two linear equations (least squares). The two steps are done in turn.
#include "kernels/k_quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/k_quant_matrix.h"
#include "kernels/rounding.h"

namespace cascade {
namespace {

constexpr int kSubgroupWeights = 32;  // of q4k and q5k
constexpr int kParts = kGroup / kSubgroupWeights;
constexpr int kLevelMax = 63;  // of scales and offsets, as files have them
constexpr float kF16Max = 65504.0f;

// w = step * q - offset
struct Line {
  float step = 0;
  float offset = 0;
};

using Four [[gnu::vector_size(16)]] = float;

Four four_at(const float* x) {
  Four v;
  std::memcpy(&v, x, sizeof v);
  return v;
}
float sum_of(const Four& v) {
  return (v[0] + v[2]) + (v[1] + v[3]);
}

// To the nearest whole number in [0, q_max]. A NaN becomes 0.
Four rounded_q(Four scaled, float q_max) {
  const Four zero = {}, most = zero + q_max;
  scaled = scaled > zero ? scaled : zero;
  scaled = scaled < most ? scaled : most;
  return (scaled + kRoundingMagic) - kRoundingMagic;
}

float rounded_one(float scaled, float q_max) {
  return round_small(clamped(scaled, 0, q_max));
}

// The best line for the q that lie nearest to a line, and the squared error that these q have with
// it, up to a number that depends on x alone.
struct Fit {
  Line line;
  float error = INFINITY;
};
Fit best_line(const float* x, const Line& near, float q_max) {
  const float inv = inverse(near.step);
  Four qs = {}, qqs = {}, xs = {}, qxs = {};
  for (int i = 0; i < kSubgroupWeights; i += 4) {
    const Four value = four_at(x + i);
    const Four q = rounded_q((value + near.offset) * inv, q_max);
    qs += q;
    qqs += q * q;
    xs += value;
    qxs += q * value;
  }
  const float q = sum_of(qs), qq = sum_of(qqs), sum = sum_of(xs), qx = sum_of(qxs);
  constexpr float kCount = kSubgroupWeights;
  const float determinant = kCount * qq - q * q;
  Line line = near;
  if (determinant > 0) {
    line.step = (kCount * qx - q * sum) / determinant;
    line.offset = (q * qx - qq * sum) / determinant;
  }
  if (!(line.offset >= 0)) line = {qq > 0 ? qx / qq : 0, 0};
  if (!(line.step > 0)) line = near;
  const float s = line.step, o = line.offset;
  return {line, s * s * qq + o * o * kCount - 2 * (s * o * q + s * qx - o * sum)};
}

// The squared error of the nearest q.
float line_error(const float* x, const Line& line, float q_max) {
  const float inv = inverse(line.step);
  Four sum = {};
  for (int i = 0; i < kSubgroupWeights; i += 4) {
    const Four shifted = four_at(x + i) + line.offset;
    const Four error = rounded_q(shifted * inv, q_max) * line.step - shifted;
    sum += error * error;
  }
  return sum_of(sum);
}

// The best of some lines for 32 weights. They begin with steps that are a little finer or coarser
// than the range of the weights needs: clipping the outermost weights often costs less than a
// coarser step.
Line search_line(const float* x, float q_max) {
  float low = 0, high = 0;
  for (int i = 0; i < kSubgroupWeights; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  Fit best;
  for (const float more : {-0.3f, 0.0f, 0.3f, 0.6f, 0.9f, 1.2f}) {
    const float levels = q_max + more;
    const Fit fit = best_line(x, {(high - low) / levels, -low}, q_max);
    if (fit.error < best.error) best = fit;
  }
  const Fit fit = best_line(x, best.line, q_max);
  return fit.error < best.error ? fit.line : best.line;
}

// The four lines of a group as whole multiples of two units.
struct Levels {
  uint16_t unit = 0, offset_unit = 0;
  int scales[kParts] = {};
  int offsets[kParts] = {};
  float error = INFINITY;

  Line line(int part) const {
    return {f16_to_f32(unit) * static_cast<float>(scales[part]),
            f16_to_f32(offset_unit) * static_cast<float>(offsets[part])};
  }
};

// A unit above 0 does not become 0.
uint16_t f16_nearest(float x) {
  const uint16_t nearest = f32_to_f16(clamped(x, 0, kF16Max));
  return x > 0 ? std::max(nearest, uint16_t{1}) : nearest;
}

// The multiples of two units that give the least error, near those of the best lines.
Levels choose_levels(const float* x, const Line* lines, uint16_t unit, uint16_t offset_unit,
                     float q_max) {
  Levels levels = {.unit = unit, .offset_unit = offset_unit, .error = 0};
  const float step = f16_to_f32(unit), offset_step = f16_to_f32(offset_unit);
  for (int part = 0; part < kParts; ++part) {
    const auto near = [](float value, float size) {
      return static_cast<int>(round_small(clamped(value * inverse(size), 0, kLevelMax)));
    };
    const int scale = near(lines[part].step, step), offset = near(lines[part].offset, offset_step);
    float best = INFINITY;
    for (int s = std::max(0, scale - 1); s <= std::min(kLevelMax, scale + 1); ++s) {
      for (int o = std::max(0, offset - 1); o <= std::min(kLevelMax, offset + 1); ++o) {
        const Line line = {step * static_cast<float>(s), offset_step * static_cast<float>(o)};
        const float error = line_error(x + part * kSubgroupWeights, line, q_max);
        if (error < best) {
          best = error;
          levels.scales[part] = s;
          levels.offsets[part] = o;
        }
      }
    }
    levels.error += best;
  }
  return levels;
}

// The units with the least squared error for the q that `levels` give.
void refit_units(const float* x, const Levels& levels, float q_max, float& unit,
                 float& offset_unit) {
  // w = unit * a - offset_unit * b with a = scale * q and b = offset.
  float aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
  for (int part = 0; part < kParts; ++part) {
    const Line line = levels.line(part);
    const float inv = inverse(line.step);
    const auto b = static_cast<float>(levels.offsets[part]);
    for (int i = part * kSubgroupWeights; i < (part + 1) * kSubgroupWeights; ++i) {
      const float a =
          static_cast<float>(levels.scales[part]) * rounded_one((x[i] + line.offset) * inv, q_max);
      aa += a * a;
      ab += a * b;
      bb += b * b;
      ax += a * x[i];
      bx += b * x[i];
    }
  }
  const float determinant = aa * bb - ab * ab;
  if (determinant > 0) {
    unit = (ax * bb - bx * ab) / determinant;
    offset_unit = (ax * ab - bx * aa) / determinant;
  } else if (aa > 0) {
    unit = ax / aa;
  }
}

KQuantGroup quantize_with_offsets(const float* x, int bits) {
  const float q_max = static_cast<float>((1 << bits) - 1);
  Line lines[kParts];
  float largest_step = 0, largest_offset = 0;
  for (int part = 0; part < kParts; ++part) {
    lines[part] = search_line(x + part * kSubgroupWeights, q_max);
    largest_step = std::max(largest_step, lines[part].step);
    largest_offset = std::max(largest_offset, lines[part].offset);
  }
  float unit = largest_step / kLevelMax, offset_unit = largest_offset / kLevelMax;
  Levels best;
  for (int round = 0; round < 2; ++round) {
    const Levels levels =
        choose_levels(x, lines, f16_nearest(unit), f16_nearest(offset_unit), q_max);
    if (!(levels.error < best.error)) break;
    best = levels;
    refit_units(x, levels, q_max, unit, offset_unit);
  }
  KQuantGroup group = {};
  group.unit = best.unit;
  group.offset_unit = best.offset_unit;
  for (int part = 0; part < kParts; ++part) {
    group.scales[part] = static_cast<int16_t>(best.scales[part]);
    group.offsets[part] = static_cast<uint8_t>(best.offsets[part]);
    const Line line = best.line(part);
    const float inv = inverse(line.step);
    for (int i = part * kSubgroupWeights; i < (part + 1) * kSubgroupWeights; ++i) {
      group.q[i] = static_cast<uint8_t>(rounded_one((x[i] + line.offset) * inv, q_max));
    }
  }
  return group;
}

constexpr int kFineWeights = 16;  // of a subgroup of q6k
constexpr int kFineParts = kGroup / kFineWeights;
constexpr float kFineMin = -32, kFineMax = 31;
constexpr float kFineScaleMax = 127;

// A step may be negative, since there is one more q below 0.
float inverse_of_step(float step) {
  return step < 0 ? -inverse(-step) : inverse(step);
}

Four fine_q(Four scaled) {
  return rounded_q(scaled - kFineMin, kFineMax - kFineMin) + kFineMin;
}

float fine_error(const float* x, float step) {
  const float inv = inverse_of_step(step);
  Four sum = {};
  for (int i = 0; i < kFineWeights; i += 4) {
    const Four value = four_at(x + i);
    const Four error = fine_q(value * inv) * step - value;
    sum += error * error;
  }
  return sum_of(sum);
}

// The best of some steps for 16 weights: each is the one that fits best for the q of a first guess.
float search_step(const float* x) {
  const float largest = largest_magnitude(x, kFineWeights);
  float best = 0, best_gain = 0;
  for (const float levels : {-32.5f, -31.75f, -31.0f, 31.0f, 31.75f, 32.5f}) {
    const float inv = inverse_of_step(largest / levels);
    Four qqs = {}, qxs = {};
    for (int i = 0; i < kFineWeights; i += 4) {
      const Four value = four_at(x + i), q = fine_q(value * inv);
      qqs += q * q;
      qxs += q * value;
    }
    const float qq = sum_of(qqs), qx = sum_of(qxs);
    // The squared error is that of q = 0, less this.
    const float gain = qq > 0 ? qx * qx / qq : 0;
    if (gain > best_gain) {
      best_gain = gain;
      best = qx / qq;
    }
  }
  return best;
}

KQuantGroup quantize_without_offsets(const float* x) {
  float steps[kFineParts];
  float largest = 0;
  for (int part = 0; part < kFineParts; ++part) {
    steps[part] = search_step(x + part * kFineWeights);
    largest = std::max(largest, std::fabs(steps[part]));
  }
  KQuantGroup group = {};
  group.unit = f16_up(clamped(largest / kFineScaleMax, 0, kF16Max));
  const float unit = f16_to_f32(group.unit);
  for (int part = 0; part < kFineParts; ++part) {
    const float* from = x + part * kFineWeights;
    const float near = round_small(clamped(steps[part] * inverse(unit), -127, 127));
    float best = near, best_error = fine_error(from, near * unit);
    for (const float scale : {near - 1, near + 1}) {
      const float error = fine_error(from, scale * unit);
      if (std::fabs(scale) <= kFineScaleMax && error < best_error) {
        best = scale;
        best_error = error;
      }
    }
    group.scales[part] = static_cast<int16_t>(best);
    const float inv = inverse_of_step(best * unit);
    for (int i = 0; i < kFineWeights; ++i) {
      const float q = rounded_one(from[i] * inv - kFineMin, kFineMax - kFineMin);
      group.q[part * kFineWeights + i] = static_cast<uint8_t>(q);
    }
  }
  return group;
}

}  // namespace

KQuantGroup quantize_k_group(WeightType type, const float* weights, int count) {
  float x[kGroup] = {};
  std::copy_n(weights, count, x);
  const RecordFormat format = record_format(type);
  return format.offsets ? quantize_with_offsets(x, format.bits) : quantize_without_offsets(x);
}

}  // namespace cascade
