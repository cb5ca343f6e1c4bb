// Things to do at certain times: refused requests that are worth another try later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace cascade::serve {

class Timers {
 public:
  void add(int64_t due_us, uint64_t tag) { due_.emplace(due_us, tag); }

  // Takes out and returns the tags that are due, in the order of their times.
  std::vector<uint64_t> take_due(int64_t now_us) {
    std::vector<uint64_t> tags;
    while (!due_.empty() && due_.begin()->first <= now_us) {
      tags.push_back(due_.begin()->second);
      due_.erase(due_.begin());
    }
    return tags;
  }

  // The next time, or `otherwise` if that is earlier.
  int64_t next_us(int64_t otherwise) const {
    return due_.empty() ? otherwise : std::min(otherwise, due_.begin()->first);
  }
  bool empty() const { return due_.empty(); }

 private:
  std::multimap<int64_t, uint64_t> due_;
};

}  // namespace cascade::serve
