// The text format 0.0.4.
#include "wire/http/prometheus.h"

#include <algorithm>
#include <cstdio>

#include "base/check.h"

namespace cascade::http {
namespace {

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  double back = 0;
  char shorter[32];
  std::snprintf(shorter, sizeof shorter, "%.15g", value);
  std::sscanf(shorter, "%lf", &back);
  return back == value ? shorter : text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {
  CHECK(std::ranges::is_sorted(bounds_));
}

void Histogram::add(double value, uint64_t times) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  counts_[static_cast<size_t>(bound - bounds_.begin())] += times;
  sum_ += value * static_cast<double>(times);
}

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  text_ += "# HELP " + std::string(name) + " " + std::string(help) + "\n# TYPE " +
           std::string(name) + " " + std::string(type) + "\n";
}

void MetricsText::sample(std::string_view name, const Labels& labels, double value) {
  text_ += name;
  for (size_t i = 0; i < labels.size(); ++i) {
    text_ += (i == 0 ? "{" : ",") + labels[i].first + "=\"" + escaped(labels[i].second) + '"';
  }
  if (!labels.empty()) text_ += '}';
  text_ += " " + number_text(value) + "\n";
}

void MetricsText::counter(std::string_view name, std::string_view help, double value) {
  family(name, "counter", help);
  sample(name, {}, value);
}

void MetricsText::gauge(std::string_view name, std::string_view help, double value) {
  family(name, "gauge", help);
  sample(name, {}, value);
}

void MetricsText::histogram(std::string_view name, std::string_view help, const Histogram& values) {
  family(name, "histogram", help);
  const std::string base(name);
  uint64_t total = 0;
  for (size_t i = 0; i < values.bounds().size(); ++i) {
    total += values.counts()[i];
    sample(base + "_bucket", {{"le", number_text(values.bounds()[i])}}, static_cast<double>(total));
  }
  total += values.counts().back();
  sample(base + "_bucket", {{"le", "+Inf"}}, static_cast<double>(total));
  sample(base + "_sum", {}, values.sum());
  sample(base + "_count", {}, static_cast<double>(total));
}

}  // namespace cascade::http
