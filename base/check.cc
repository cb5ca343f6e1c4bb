// Ends a process that has found a bug in itself.
#include "base/check.h"

#include <cstdio>

namespace cascade {

void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  std::fflush(stderr);
  std::abort();
}

}  // namespace cascade
