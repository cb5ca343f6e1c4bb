// What the scheduler reports of itself several times a second: what it has to do, and which actors
// owe it an answer.
#pragma once

#include <cstdint>

namespace cascade {

struct SchedulerLoad {
  int64_t running = 0;  // requests
  int64_t waiting = 0;
  // Whether the actor has been given something that it has not answered.
  bool prefill_owes = false;
  bool decode_owes = false;
  bool store_owes = false;
};

}  // namespace cascade
