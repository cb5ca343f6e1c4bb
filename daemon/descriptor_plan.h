// How to divide the descriptors that the process may have (RLIMIT_NOFILE): enough for its own files
// and sockets, the rest for connections.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace cascade {

// The parts of the daemon that need descriptors.
struct DescriptorNeeds {
  size_t ipc_tenants = 1;  // each with a socket of its own, and one for events
  bool http = false;
  bool tcp = false;
  size_t key_tenants = 0;  // of HTTP and of TCP, together: each has ports to the schedulers
  bool other_models = false;
};

struct DescriptorPlan {
  size_t own = 0;  // files and sockets of the daemon itself, with some to spare
  // The largest number of connections at once: at each tenant's ipc socket, at each tenant's socket
  // for events, at HTTP, at TCP.
  size_t ipc_each = 0;
  size_t events_each = 0;
  size_t http = 0;
  size_t tcp = 0;
};

// The plan for a limit of `limit` descriptors: doors that want few get what they want, the others
// get equal parts. Error: kResourceExhausted, field "open files", if doors would have next to none.
Result<DescriptorPlan> plan_descriptors(const DescriptorNeeds& needs, int64_t limit);

// With this number, all doors get what they want.
int64_t descriptors_wanted(const DescriptorNeeds& needs);

// Raises the process's limit to `wanted`, or as far as it may, and returns the limit that holds
// then.
int64_t raise_descriptor_limit(int64_t wanted);

// The number of descriptors that could still be opened now. Counts the open ones to find out.
int64_t free_descriptors();

}  // namespace cascade
