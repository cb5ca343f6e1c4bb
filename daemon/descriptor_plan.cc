// Divides the descriptors, by numbers that were counted in /proc/PID/fd.
#include "daemon/descriptor_plan.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace cascade {
namespace {

// The numbers of descriptors were counted with the demo model and a store. A daemon that serves
// `local` has 54. Each further tenant adds 13, HTTP 7, TCP 10, and each tenant of a key 2 at HTTP
// and 2 at TCP. The rest is for short-lived descriptors: files of KV pages, a check or a backup, a
// reload, a look at /proc.
constexpr int64_t kOwn = 100, kIpcTenant = 14, kHttp = 12, kTcp = 16, kKeyTenant = 4;
// Each further model has 25 descriptors. Only the users know how many models are loaded at once:
// this number is enough for a few, and a lack of descriptors is noticed before a model is loaded.
constexpr int64_t kOtherModels = 200;

// The number of connections that a door wants, and the number below which it is useless.
constexpr size_t kClientsWanted = 4096, kEventsWanted = 1024;
constexpr size_t kLeast = 8;

struct Wishes {
  std::vector<size_t> wanted;  // of each door
  size_t total = 0;
};

Wishes wishes_of(const DescriptorNeeds& needs) {
  Wishes doors;
  doors.wanted.assign(needs.ipc_tenants, kClientsWanted);
  doors.wanted.insert(doors.wanted.end(), needs.ipc_tenants, kEventsWanted);
  if (needs.http) doors.wanted.push_back(kClientsWanted);
  if (needs.tcp) doors.wanted.push_back(kClientsWanted);
  for (const size_t wanted : doors.wanted) doors.total += wanted;
  return doors;
}

int64_t own_descriptors(const DescriptorNeeds& needs) {
  return kOwn + kIpcTenant * static_cast<int64_t>(needs.ipc_tenants) + (needs.http ? kHttp : 0) +
         (needs.tcp ? kTcp : 0) + kKeyTenant * static_cast<int64_t>(needs.key_tenants) +
         (needs.other_models ? kOtherModels : 0);
}

// The level up to which every door gets what it wants, so that all doors together have at most
// `left`.
size_t level_of(std::vector<size_t> wanted, size_t left) {
  std::ranges::sort(wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t part = left / (wanted.size() - i);
    if (wanted[i] > part) return part;
    left -= wanted[i];
  }
  return wanted.empty() ? 0 : wanted.back();
}

}  // namespace

Result<DescriptorPlan> plan_descriptors(const DescriptorNeeds& needs, int64_t limit) {
  const Wishes doors = wishes_of(needs);
  const int64_t own = own_descriptors(needs);
  const int64_t least = own + static_cast<int64_t>(kLeast * doors.wanted.size());
  if (limit < least) {
    return resource_exhausted(
        "open files", "the limit is " + std::to_string(limit) +
                          ", and what is to be served needs " + std::to_string(least) +
                          " at least: raise it (LimitNOFILE= of the unit, ulimit -n), or serve "
                          "fewer tenants and doors");
  }
  const size_t level = level_of(doors.wanted, static_cast<size_t>(limit - own));
  DescriptorPlan plan;
  plan.own = static_cast<size_t>(own);
  plan.ipc_each = std::min(kClientsWanted, level);
  plan.events_each = std::min(kEventsWanted, level);
  plan.http = needs.http ? std::min(kClientsWanted, level) : 0;
  plan.tcp = needs.tcp ? std::min(kClientsWanted, level) : 0;
  return plan;
}

int64_t descriptors_wanted(const DescriptorNeeds& needs) {
  return own_descriptors(needs) + static_cast<int64_t>(wishes_of(needs).total);
}

int64_t raise_descriptor_limit(int64_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t raised = std::min(limit.rlim_max, static_cast<rlim_t>(wanted));
  if (limit.rlim_cur < raised) {
    const rlimit more = {raised, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) limit.rlim_cur = raised;
  }
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
}

int64_t free_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return INT64_MAX;
  std::error_code error;
  int64_t open = 0;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    ++open;
  }
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX)) - open;
}

}  // namespace cascade
