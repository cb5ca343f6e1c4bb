// Turns SIGINT, SIGTERM and SIGHUP into an error that passes up through the callers, so that the
// daemon is stopped on the way.
#pragma once

#include <csignal>

#include "base/result.h"

namespace cascade::serve {

// Catches the three signals while the object lives. At most one object at a time, on the main
// thread.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  struct sigaction before_[3];
};

// Error kCancelled once one of the signals has come. Any thread.
Status check_interrupted();

}  // namespace cascade::serve
