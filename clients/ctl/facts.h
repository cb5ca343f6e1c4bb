// Names and values in two columns. Pure.
#pragma once

#include <string>
#include <vector>

#include "clients/ctl/table.h"

namespace cascade::ctl {

class Facts {
 public:
  void add(std::string name, std::string value) {
    rows_.push_back({{name + ":", Ink::kDim}, {std::move(value)}});
  }
  void add(std::string name, int64_t value) { add(std::move(name), std::to_string(value)); }
  // One line each.
  std::string render(const Style& style) const;

 private:
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace cascade::ctl
