// Numbers of what actors are asked for.
#pragma once

#include <cstdint>

namespace cascade {

// One thread. No number is given twice.
class JobNumbers {
 public:
  uint64_t next() { return next_++; }

 private:
  uint64_t next_ = 1;
};

}  // namespace cascade
