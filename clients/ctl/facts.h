// Names and values in two columns. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "clients/ctl/style.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {

class Facts {
 public:
  void add(std::string name, std::string value) {
    facts_.emplace_back(one_line(name) + ":", std::move(value));
  }
  void add(std::string name, int64_t value) { add(std::move(name), std::to_string(value)); }
  // One line for each; a value longer than style.columns() continues below its beginning.
  std::string render(const Style& style) const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace cascade::ctl
