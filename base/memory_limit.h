// How much memory this process may use: the machine's, or less by the limits of its control group.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cascade {

// Where a process stands in the trees of control groups, by /proc/PID/cgroup. Paths begin with '/',
// and count from the root of the process's namespace: "/../x" is outside of it.
struct ControlGroups {
  std::optional<std::string> unified;    // of version 2; nullopt: in none
  std::optional<std::string> memory_v1;  // of version 1's tree that has the memory controller
};
// Lines that are none of a control group are left out.
ControlGroups parse_control_groups(std::string_view proc_cgroup);

// A place where a tree of control groups can be read, by /proc/PID/mountinfo.
struct ControlGroupMount {
  bool unified = false;  // version 2; else version 1 with the memory controller
  std::string root;      // the group that is seen at `point`
  std::string point;
  bool operator==(const ControlGroupMount&) const = default;
};
// In the order of the text; mounts of other kinds and lines that are none are left out.
std::vector<ControlGroupMount> parse_control_group_mounts(std::string_view proc_mountinfo);

// The files that can hold a memory limit of a process: of its group and of all groups above, as far
// as a mount shows them. Where none shows its group, as in containers that see only a part of
// the tree, those of the mounts' own roots. Without mounts: at the usual places below
// /sys/fs/cgroup.
std::vector<std::string> memory_limit_files(const ControlGroups& groups,
                                            const std::vector<ControlGroupMount>& mounts);

// Bytes that the content of such a file allows; nullopt if it is no number of 63 bits ("max"),
// which is no limit. Without one, version 1 has a number that no machine reaches. `name`: the
// file's, without folders.
std::optional<int64_t> parse_memory_limit(std::string_view name, std::string_view content);

// What a process may use.
struct MemoryLimit {
  int64_t bytes = 0;
  std::string set_by;  // the file of the control group that says so; empty: the machine's memory
};
// Of this process on a machine with `physical` bytes. `root` is "/", or a folder in place of it.
// What cannot be read sets no limit.
MemoryLimit memory_limit(const std::filesystem::path& root, int64_t physical);
// Of this process on this machine.
MemoryLimit memory_limit();

// What K and V may take of it unless somebody says: half, at least 64 MiB.
int64_t default_kv_bytes(const MemoryLimit& memory);

}  // namespace cascade
