// Text in the format that Prometheus reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cascade::http {

// Counts of values up to each bound.
class Histogram {
 public:
  // `bounds` must be in ascending order.
  explicit Histogram(std::vector<double> bounds);
  void add(double value, uint64_t times = 1);
  std::span<const double> bounds() const { return bounds_; }
  std::span<const uint64_t> counts() const { return counts_; }  // one count more than bounds
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

using Labels = std::vector<std::pair<std::string, std::string>>;

class MetricsText {
 public:
  // Writes the lines HELP and TYPE of a family; the family's samples follow.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::string_view name, const Labels& labels, double value);
  // A family of one sample.
  void counter(std::string_view name, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view help, double value);
  void histogram(std::string_view name, std::string_view help, const Histogram& values);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace cascade::http
