// What cascade-bench prints: rows of named figures, as a table or as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "bench/speed/samples.h"

namespace cascade::speed {

// Rows whose keys are the columns, units last ("tokens_per_s"). Values are numbers or strings.
class Report {
 public:
  // `header` has what is true for all rows (machine, model, options).
  explicit Report(OrderedJson header) : header_(std::move(header)) {}

  void add(OrderedJson row) { rows_.push_back(std::move(row)); }

  // One object {..header, "rows": [...]}. Numbers that are not whole keep four digits, here and in
  // the table.
  std::string to_json() const;
  // The header as "key: value" lines, then a table for each run of rows with the same columns.
  std::string to_table() const;

 private:
  OrderedJson header_;
  std::vector<OrderedJson> rows_;
};

// Adds median, lowest and highest of amount / seconds under `name`, `name`_min, `name`_max, each
// divided by `unit`.
void add_rate(OrderedJson& row, const std::string& name, double amount, double unit,
              const Samples& samples);

}  // namespace cascade::speed
