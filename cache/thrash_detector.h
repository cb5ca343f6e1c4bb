// Tells when a cache throws away what it needs next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cascade {

// Looks at the latest accesses to pages, as many as the cache has pages. A page that is computed
// again although it was evicted lately is a *refault*: a somewhat larger cache would have had it.
// The alarm begins when nearly all accesses are refaults: a working set larger than the cache looks
// like this, and ordinary traffic does not. If pages that were evicted long ago (*far* ones) count
// too, practically all accesses must be refaults or far ones. The alarm ends when no more than
// kEndShare of the misses are refaults or far ones, or when there are no misses. (Hits do not end
// it: a reaction that keeps a part of the working set causes hits, and would end itself.) One
// thread.
class ThrashDetector {
 public:
  // Share of refaults in the accesses. In public traces it stays below 0.96 at every capacity from
  // 1 to 20 % of their pages, with every policy (docs/PERFORMANCE.md); a cyclic scan has 1.
  static constexpr double kAlarmShare = 0.96;
  // The same, with the far ones included.
  static constexpr double kFarAlarmShare = 0.998;
  // The alarm ends when refaults and far ones are no more than this share of the misses. In public
  // traces refaults are below 0.4 of the misses on average.
  static constexpr double kEndShare = 0.6;
  // A window of fewer accesses would not justify a judgement; a longer one would delay it.
  static constexpr size_t kWindowMin = 16;
  static constexpr size_t kWindowMax = 10'000;

  explicit ThrashDetector(size_t capacity_pages);

  void add_hit() { add({1, 0, 0, 0}); }
  // `known`: the page was evicted, lately (then `refault` is true too) or long ago.
  void add_miss(bool refault, bool known) { add({1, 1, refault ? 1 : 0, known ? 1 : 0}); }

  bool alarm() const { return alarm_; }
  // How many times the alarm began.
  int64_t alarms() const { return alarms_; }
  // Share of refaults in the latest accesses, in [0, 1].
  double refault_share() const { return share_; }

 private:
  // The window slides in steps, so that an alarm is late by a step at most.
  static constexpr size_t kSteps = 8;
  struct Step {
    int64_t accesses = 0;
    int64_t misses = 0;
    int64_t refaults = 0;
    int64_t known = 0;  // refaults and far ones
    Step& operator+=(const Step& other) {
      accesses += other.accesses;
      misses += other.misses;
      refaults += other.refaults;
      known += other.known;
      return *this;
    }
  };

  void add(const Step& access);
  void judge();

  const int64_t step_accesses_;
  std::array<Step, kSteps> steps_{};  // a ring
  size_t current_ = 0;
  double share_ = 0;
  bool alarm_ = false;
  int64_t alarms_ = 0;
};

}  // namespace cascade
