// CHECK: states an invariant of our own code. A failed check is a bug and ends the process.
#pragma once

#include <cstdlib>

namespace cascade {

// Prints "file:line: check failed: what" to stderr and aborts. Any thread; never returns.
[[noreturn]] void check_failed(const char* file, int line, const char* what);

}  // namespace cascade

// Always on, in release too. Input from files, sockets or clients must never reach a failing CHECK:
// bad input is answered with an Error (base/result.h).
#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) ::cascade::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
