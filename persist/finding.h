// What was found to be wrong with stored data, for people.
#pragma once

#include <string>
#include <vector>

namespace cascade {

struct Finding {
  std::string where;  // a file, a table's row, a page
  std::string what;   // one sentence: what is wrong, and what was or can be done
  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

}  // namespace cascade
