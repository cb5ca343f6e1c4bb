// A short wait between two reads of memory that another thread is about to change.
#pragma once

namespace cascade {

// Waits about 10 to 45 ns, and leaves the shared parts of a core to the core's other thread.
inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  // On aarch64, `yield` takes no time; an instruction barrier waits about as long.
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace cascade
