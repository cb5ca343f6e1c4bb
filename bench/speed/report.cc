// Numbers keep four digits: repeated runs agree in fewer.
#include "bench/speed/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cascade::speed {
namespace {

constexpr int kDigits = 4;

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double decimals = kDigits - 1 - std::floor(std::log10(std::fabs(value)));
  // Powers of ten above 1 are exact, so that the result is the number nearest to its digits.
  const double unit = std::pow(10, std::fabs(decimals));
  return decimals > 0 ? std::round(value * unit) / unit : std::round(value / unit) * unit;
}

OrderedJson rounded(OrderedJson object) {
  for (auto& [name, value] : object.items()) {
    if (value.is_number_float()) value = rounded(value.get<double>());
  }
  return object;
}

std::string to_text(const OrderedJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  char text[32];
  // Prints all digits that a double keeps: a large number is not written with an exponent.
  std::snprintf(text, sizeof text, "%.15g", rounded(value.get<double>()));
  return text;
}

std::vector<std::string> columns_of(const OrderedJson& row) {
  std::vector<std::string> names;
  for (const auto& [name, value] : row.items()) names.push_back(name);
  return names;
}

// Rows [begin, end) have the same columns.
std::string table(const std::vector<OrderedJson>& rows, size_t begin, size_t end) {
  std::vector<std::vector<std::string>> lines = {columns_of(rows[begin])};
  for (size_t i = begin; i < end; ++i) {
    auto& line = lines.emplace_back();
    for (const auto& [name, value] : rows[i].items()) line.push_back(to_text(value));
  }
  std::string text;
  for (const auto& line : lines) {
    for (size_t column = 0; column < line.size(); ++column) {
      size_t width = 0;
      for (const auto& other : lines) width = std::max(width, other[column].size());
      text += std::string(width - line[column].size() + (column > 0 ? 2 : 0), ' ') + line[column];
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string Report::to_json() const {
  OrderedJson all = rounded(header_);
  all["rows"] = OrderedJson::array();
  for (const OrderedJson& row : rows_) all["rows"].push_back(rounded(row));
  return all.dump(2) + "\n";
}

std::string Report::to_table() const {
  std::string text;
  for (const auto& [name, value] : header_.items()) text += name + ": " + to_text(value) + "\n";
  for (size_t begin = 0; begin < rows_.size();) {
    size_t end = begin;
    while (end < rows_.size() && columns_of(rows_[end]) == columns_of(rows_[begin])) ++end;
    text += '\n' + table(rows_, begin, end);
    begin = end;
  }
  return text;
}

void add_rate(OrderedJson& row, const std::string& name, double amount, double unit,
              const Samples& samples) {
  row[name] = amount / samples.median() / unit;
  row[name + "_min"] = amount / samples.slowest() / unit;
  row[name + "_max"] = amount / samples.fastest() / unit;
}

}  // namespace cascade::speed
