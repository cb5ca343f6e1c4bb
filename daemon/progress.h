// Whether the service makes progress with its work: this decides whether the watchdog is fed. A
// ping from a timer would prove nothing, so the signs come from the places where the work is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"

namespace cascade {

// Counts the pieces of work that an actor begins and ends. Any thread.
class WorkMeter {
 public:
  // One piece of work, which is under way as long as this object lives.
  class Piece {
   public:
    explicit Piece(WorkMeter& meter) : meter_(meter) { ++meter_.begun_; }
    ~Piece() { ++meter_.ended_; }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    WorkMeter& meter_;
  };

  // Notes that a part of a long piece is done.
  void move() { ++parts_; }
  // Grows whenever a piece begins or ends, or a part of it is done.
  uint64_t moves() const { return begun_ + parts_ + ended_; }
  bool working() const { return begun_ != ended_; }

 private:
  std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> parts_{0};
  std::atomic<uint64_t> ended_{0};
};

// The state of an actor at some moment.
struct ProgressSign {
  std::string actor;
  uint64_t moves = 0;  // grows as the actor works
  bool owes = false;   // the actor has something to do
};

// An actor makes progress if it has nothing to do or has moved since the watchdog was last fed. The
// watchdog is fed when all actors make progress. So an actor that stands still for the whole
// timeout ends the process, and work of any length below the timeout does not. One thread.
class ProgressRule {
 public:
  // timeout_us: the time after which the service manager kills the process, > 0.
  ProgressRule(const Clock& clock, int64_t timeout_us) : clock_(clock), timeout_us_(timeout_us) {}

  struct Verdict {
    bool feed = false;
    std::vector<std::string> stuck;  // the actors that keep the watchdog from being fed when due
  };
  // Call it several times in interval_us(). If it returns `feed`, the watchdog counts as fed.
  Verdict look(std::span<const ProgressSign> signs);

  // The shortest time between two feedings: a quarter of the timeout.
  int64_t interval_us() const { return timeout_us_ / 4; }
  // The time since the watchdog was fed; 0 if it never was.
  int64_t hungry_us() const { return fed_ ? clock_.monotonic_us() - fed_us_ : 0; }

 private:
  const Clock& clock_;
  const int64_t timeout_us_;
  bool fed_ = false;
  int64_t fed_us_ = 0;
  std::map<std::string, uint64_t> moves_;  // each actor's moves when the watchdog was last fed
};

}  // namespace cascade
