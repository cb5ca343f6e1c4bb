// Bounded recursion: counts the levels that are open.
#pragma once

namespace cascade::jinja {

// One level of nesting for as long as it lives. The caller checks ok() and gives up if it is false.
class Nesting {
 public:
  Nesting(int& depth, int depth_max) : depth_(depth), ok_(depth < depth_max) { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  bool ok() const { return ok_; }

 private:
  int& depth_;
  bool ok_;
};

}  // namespace cascade::jinja
