// Sums run in the order of ids and of positions, so the number of threads changes no digit.
#include "bench/eval/divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace cascade::eval {
namespace {

struct MeanAndError {
  double mean = 0;
  double standard_error = 0;
};

MeanAndError mean_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  if (values.size() < 2) return {mean, std::numeric_limits<double>::quiet_NaN()};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

size_t top_of(std::span<const float> logits) {
  return static_cast<size_t>(std::ranges::max_element(logits) - logits.begin());
}

bool all_finite(std::span<const float> logits) {
  return std::ranges::all_of(logits, [](float x) { return std::isfinite(x); });
}

}  // namespace

Divergence divergence_of(std::span<const float> reference, std::span<const float> tested,
                         int32_t next) {
  CHECK(reference.size() == tested.size() && next >= 0);
  CHECK(static_cast<size_t>(next) < reference.size());
  Divergence result;
  result.finite = all_finite(reference) && all_finite(tested);
  if (!result.finite) return result;
  const size_t reference_top = top_of(reference), tested_top = top_of(tested);
  const double reference_max = reference[reference_top], tested_max = tested[tested_top];
  double reference_sum = 0, tested_sum = 0, weighted = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double r = reference[i] - reference_max, t = tested[i] - tested_max;
    const double e = std::exp(r);
    reference_sum += e;
    tested_sum += std::exp(t);
    weighted += e * (r - t);
  }
  const double reference_log = std::log(reference_sum), tested_log = std::log(tested_sum);
  // Rounding may leave a value slightly below 0 where the two distributions are equal.
  result.kl = std::max(0.0, weighted / reference_sum + tested_log - reference_log);
  result.nll_reference = reference_log - (reference[next] - reference_max);
  result.nll = tested_log - (tested[next] - tested_max);
  result.same_top = reference_top == tested_top;
  return result;
}

DivergenceSummary summarize(std::span<const Divergence> positions) {
  CHECK(!positions.empty());
  std::vector<double> kl, reference, tested, difference;
  double agreed = 0;
  for (const Divergence& position : positions) {
    kl.push_back(position.kl);
    reference.push_back(position.nll_reference);
    tested.push_back(position.nll);
    difference.push_back(position.nll - position.nll_reference);
    agreed += position.same_top ? 1 : 0;
  }
  const MeanAndError mean_kl = mean_of(kl), change = mean_of(difference);
  DivergenceSummary summary;
  summary.mean_kl = mean_kl.mean;
  summary.mean_kl_standard_error = mean_kl.standard_error;
  std::ranges::sort(kl);
  summary.p99_kl = kl[(kl.size() * 99 + 99) / 100 - 1];
  summary.max_kl = kl.back();
  summary.top1_agreement = agreed / static_cast<double>(positions.size());
  summary.perplexity_reference = std::exp(mean_of(reference).mean);
  summary.perplexity = std::exp(mean_of(tested).mean);
  summary.perplexity_change_percent = 100 * std::expm1(change.mean);
  summary.perplexity_change_standard_error_percent =
      100 * std::exp(change.mean) * change.standard_error;
  return summary;
}

}  // namespace cascade::eval
