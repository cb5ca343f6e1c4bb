// How much memory this process may use: the machine's, or less if its control group has a limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cascade {

// The groups of a process in the trees of control groups, from /proc/PID/cgroup. Paths begin with
// '/' and are relative to the root of the process's namespace: "/../x" is outside of that root.
struct ControlGroups {
  std::optional<std::string> unified;    // in version 2; nullopt: in no group
  std::optional<std::string> memory_v1;  // in the version 1 tree that has the memory controller
};
// Lines that do not describe a control group are ignored.
ControlGroups parse_control_groups(std::string_view proc_cgroup);

// A place where a tree of control groups can be read, from /proc/PID/mountinfo.
struct ControlGroupMount {
  bool unified = false;  // version 2; else version 1 with the memory controller
  std::string root;      // the group that is seen at `point`
  std::string point;
  bool operator==(const ControlGroupMount&) const = default;
};
// In the order of the text. Mounts of other kinds, and lines that are not mounts, are ignored.
std::vector<ControlGroupMount> parse_control_group_mounts(std::string_view proc_mountinfo);

// The files that can hold a memory limit of a process: those of its group and of all groups above,
// as far as a mount shows them. If no mount shows its group, as in containers that see only a part
// of the tree, the files of the mounts' own roots. Without mounts, the files at the usual places
// below /sys/fs/cgroup.
std::vector<std::string> memory_limit_files(const ControlGroups& groups,
                                            const std::vector<ControlGroupMount>& mounts);

// The number of bytes that the content of a file of memory_limit_files() allows. nullopt if the
// content is not a number of 63 bits ("max"): then there is no limit. Version 1 writes a number
// that no machine reaches if there is no limit. `name` is the file's name without folders.
std::optional<int64_t> parse_memory_limit(std::string_view name, std::string_view content);

// How much memory a process may use.
struct MemoryLimit {
  int64_t bytes = 0;
  std::string set_by;  // the control group's file that sets the limit; empty: the machine's memory
};
// The limit of this process on a machine with `physical` bytes. `root` is "/", or a folder that
// replaces it. Files that cannot be read set no limit.
MemoryLimit memory_limit(const std::filesystem::path& root, int64_t physical);
// The limit of this process on this machine.
MemoryLimit memory_limit();

// The memory that K and V may use by default: half of the limit, at least 64 MiB.
int64_t default_kv_bytes(const MemoryLimit& memory);
// The memory for recurrent states of each model, unless the user sets one: an eighth of `memory`,
// at least 256 MiB (three states of Qwen3-Next) and at most 2 GiB.
int64_t default_state_bytes(const MemoryLimit& memory);

}  // namespace cascade
