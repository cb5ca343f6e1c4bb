// Describes, for people, something that is wrong with stored data.
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
