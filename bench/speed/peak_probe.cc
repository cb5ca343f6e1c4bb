// Takes samples of peaks between the runs that are measured.
#include "bench/speed/peak_probe.h"

#include <algorithm>

namespace cascade::speed {
namespace {

double mean(double a, double b) {
  return (a + b) / 2;
}

}  // namespace

PeakProbe::PeakProbe(ThreadPool& pool, Isa isa)
    : pool_(pool), loops_(peak_loops(isa)), memory_(peak_memory(pool)) {}

void PeakProbe::restart() {
  for (auto& rates : read_bytes_) rates.clear();
  f32_flop_.clear();
  int8_op_.clear();
}

void PeakProbe::sample() {
  for (size_t i = 0; i < read_bytes_.size(); ++i) {
    read_bytes_[i].push_back(read_once(pool_, loops_, kReadPatterns[i], memory_.data()));
  }
  f32_flop_.push_back(f32_once(pool_, loops_));
  int8_op_.push_back(int8_once(pool_, loops_));
}

std::vector<Peak> PeakProbe::between() const {
  const auto& read = *std::ranges::max_element(
      read_bytes_, {}, [](const std::vector<double>& rates) { return median_of(rates); });
  std::vector<Peak> peaks;
  for (size_t i = 1; i < read.size(); ++i) {
    peaks.push_back({mean(read[i - 1], read[i]), mean(f32_flop_[i - 1], f32_flop_[i]),
                     mean(int8_op_[i - 1], int8_op_[i])});
  }
  return peaks;
}

Samples PairedSamples::samples() const {
  Samples samples = {seconds};
  std::ranges::sort(samples.seconds);
  return samples;
}

double PairedSamples::share(const std::function<double(double, const Peak&)>& share) const {
  std::vector<double> shares;
  for (size_t i = 0; i < seconds.size(); ++i) shares.push_back(share(seconds[i], peaks[i]));
  return median_of(std::move(shares));
}

Peak PairedSamples::median_peak() const {
  const auto median = [&](double Peak::*figure) {
    return share([&](double, const Peak& peak) { return peak.*figure; });
  };
  return {median(&Peak::read_bytes_per_s), median(&Peak::f32_flop_per_s),
          median(&Peak::int8_op_per_s)};
}

PairedSamples measure_paired(PeakProbe& probe, int repeats, const std::function<void()>& body) {
  PairedSamples result;
  probe.restart();
  probe.sample();
  for (int i = 0; i < repeats; ++i) {
    const double start = now_s();
    body();
    result.seconds.push_back(now_s() - start);
    probe.sample();
  }
  result.peaks = probe.between();
  return result;
}

}  // namespace cascade::speed
