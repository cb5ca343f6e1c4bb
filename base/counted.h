// Numbers of things in texts for people.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// "1 page", "2 pages": `one` is the word for one thing, and takes an "s" for others.
template <class Number>
std::string counted(Number count, std::string_view one) {
  return std::to_string(count) + ' ' + std::string(one) + (count == 1 ? "" : "s");
}

}  // namespace cascade
