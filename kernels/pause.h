// What a thread does between two looks at memory that another is about to change.
#pragma once

namespace cascade {

// Waits some 10 to 45 ns, and leaves what a core shares to its other thread.
inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  // aarch64's `yield` takes no time; a barrier of instructions waits about as long.
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace cascade
