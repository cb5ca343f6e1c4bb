// Starts as many threads as the daemon will need, to see whether it can.
#include "daemon/thread_room.h"

#include <sys/resource.h>

#include <cstdlib>
#include <exception>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace cascade {
namespace {

// Returns the limit in units of `unit` bytes or threads, or "none".
std::string limit_text(__rlimit_resource_t resource, rlim_t unit, const char* unit_name) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return "not known";
  if (limit.rlim_cur == RLIM_INFINITY) return "none";
  return std::to_string(limit.rlim_cur / unit) + unit_name;
}

// Allocates memory as working threads do: glibc reserves address space at a thread's first
// allocation.
void allocate() {
  void* volatile memory = std::malloc(1);
  std::free(memory);
}

}  // namespace

int threads_needed(const DaemonOptions& options) {
  // main, loader, models, scheduler, prefill, decode, store, http; two of libzmq, one that loads,
  // one that writes packed weights.
  constexpr int kAlways = 12;
  // A gateway, and a guard for each of its sockets: a tenant's gateway has two, that of TCP has
  // one.
  constexpr int kPerTenant = 3, kTcp = 2;
  const int tenants = 1 + static_cast<int>(options.tenants.size());
  return kAlways + (options.threads - 1) + tenants * kPerTenant +
         (options.tcp_address.empty() ? 0 : kTcp);
}

Status check_thread_room(int threads) {
  std::latch all_tried(1);
  std::vector<std::thread> started;
  std::string problem;
  try {
    while (static_cast<int>(started.size()) + 1 < threads) {
      started.emplace_back([&all_tried] {
        allocate();
        all_tried.wait();
      });
    }
  } catch (const std::exception& error) {  // no more threads, or no memory for one
    problem = error.what();
  }
  all_tried.count_down();
  for (std::thread& thread : started) thread.join();
  if (problem.empty()) return {};
  constexpr rlim_t kMiB = 1 << 20;
  return resource_exhausted(
      "threads", "the daemon needs " + std::to_string(threads) +
                     " threads, and the system gave it " + std::to_string(started.size() + 1) +
                     " (" + problem + "); the limits are ulimit -u (" +
                     limit_text(RLIMIT_NPROC, 1, "") + "), ulimit -v (" +
                     limit_text(RLIMIT_AS, kMiB, " MiB") + "), TasksMax= of the unit");
}

}  // namespace cascade
