// Counts of things, for texts that people read.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// "1 page", "2 pages": `one` is the word for one thing; every other count adds an "s".
template <class Number>
std::string counted(Number count, std::string_view one) {
  return std::to_string(count) + ' ' + std::string(one) + (count == 1 ? "" : "s");
}

}  // namespace cascade
