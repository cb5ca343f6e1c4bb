// Reads the limits of control groups of both versions; see proc(5) and cgroups(7).
#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/file.h"

namespace cascade {
namespace {

// The largest file that is read here: mountinfo has a line for each mount, which is thousands with
// many containers.
constexpr size_t kFileBytesMax = size_t{16} << 20;
// The largest depth of a group, and the largest number of mounts: no administrator sets up more.
constexpr size_t kGroupsMax = 256;
constexpr size_t kMountsMax = 64;

// Above memory.high a process is not killed, but slowed down until nothing moves.
constexpr std::array<const char*, 2> kUnifiedFiles = {"memory.max", "memory.high"};
constexpr int64_t kKvBytesMin = int64_t{64} << 20;
constexpr char kV1File[] = "memory.limit_in_bytes";
// This file includes the limits of the groups above, even of groups that a container does not see.
constexpr char kV1Statistics[] = "memory.stat";
constexpr std::string_view kV1Hierarchical = "hierarchical_memory_limit ";

// The parts between separators, empty ones included.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::ranges::find(words, word) != words.end();
}

// mountinfo writes spaces, tabs, newlines and backslashes as \ooo.
std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(digits, digits + 3, value, 8).ptr == digits + 3 && value < 256) {
      plain += static_cast<char>(value);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The groups from "/" to `path`, which begins with '/'; nullopt if `path` leaves the tree.
std::optional<std::vector<std::string>> groups_on_way(std::string_view path) {
  std::vector<std::string> groups = {""};
  for (const std::string_view name : split(path, '/')) {
    if (name.empty() || name == ".") continue;
    if (name == ".." || groups.size() > kGroupsMax) return std::nullopt;
    groups.push_back(groups.back() + "/" + std::string(name));
  }
  return groups;
}

// `path` relative to `root`; nullopt if it is not below `root`.
std::optional<std::string_view> below(std::string_view path, std::string_view root) {
  while (root.ends_with('/')) root.remove_suffix(1);
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  return path.empty() || path.front() == '/' ? std::optional(path) : std::nullopt;
}

void add_files(const std::string& folder, bool unified, bool own, std::vector<std::string>& files) {
  if (unified) {
    for (const char* name : kUnifiedFiles) files.push_back(folder + "/" + name);
    return;
  }
  files.push_back(folder + "/" + kV1File);
  if (own) files.push_back(folder + "/" + kV1Statistics);
}

// Adds the files of one tree, in which the process is at `path`.
void add_tree(std::string_view path, const std::vector<ControlGroupMount>& mounts, bool unified,
              std::vector<std::string>& files) {
  bool found = false;
  for (const ControlGroupMount& mount : mounts) {
    const auto inside = mount.unified == unified ? below(path, mount.root) : std::nullopt;
    const auto groups = inside ? groups_on_way(*inside) : std::nullopt;
    if (!groups) continue;
    found = true;
    for (const std::string& group : *groups) {
      add_files(mount.point + group, unified, &group == &groups->back(), files);
    }
  }
  if (found) return;
  for (const ControlGroupMount& mount : mounts) {
    if (mount.unified == unified) add_files(mount.point, unified, /*own=*/true, files);
  }
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  int64_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, bytes);
  // A number beyond 64 bits is not a limit either.
  if (problem != std::errc() || stop != end || bytes < 0) return std::nullopt;
  return bytes;
}

std::string content_of(const std::filesystem::path& root, const std::string& file) {
  auto content = read_file(root / file.substr(1), kFileBytesMax);
  return content.ok() ? *std::move(content) : std::string();
}

}  // namespace

ControlGroups parse_control_groups(std::string_view proc_cgroup) {
  ControlGroups groups;
  for (const std::string_view line : split(proc_cgroup, '\n')) {
    // "4:memory,hugetlb:/path", "0::/path"; the path may have colons.
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos || !line.substr(second + 1).starts_with('/')) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (line.substr(0, first) == "0" && controllers.empty()) groups.unified = path;
    if (has_word(controllers, "memory")) groups.memory_v1 = path;
  }
  return groups;
}

std::vector<ControlGroupMount> parse_control_group_mounts(std::string_view proc_mountinfo) {
  std::vector<ControlGroupMount> mounts;
  for (const std::string_view line : split(proc_mountinfo, '\n')) {
    // "36 25 0:31 ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS_OF_TYPE"
    const auto fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const bool unified = dash[1] == "cgroup2";
    if (!unified && !(dash[1] == "cgroup" && has_word(dash[3], "memory"))) continue;
    if (!fields[3].starts_with('/') || !fields[4].starts_with('/')) continue;
    if (mounts.size() == kMountsMax) break;
    std::string point = unescape(fields[4]);
    mounts.push_back({unified, unescape(fields[3]), std::move(point)});
  }
  return mounts;
}

std::vector<std::string> memory_limit_files(const ControlGroups& groups,
                                            const std::vector<ControlGroupMount>& mounts) {
  static const std::vector<ControlGroupMount> usual = {{true, "/", "/sys/fs/cgroup"},
                                                       {false, "/", "/sys/fs/cgroup/memory"}};
  std::vector<std::string> files;
  // A process is in one group of each tree, and both may limit it.
  for (const bool unified : {true, false}) {
    const auto& path = unified ? groups.unified : groups.memory_v1;
    add_tree(path.value_or("/"), mounts.empty() ? usual : mounts, unified, files);
  }
  return files;
}

std::optional<int64_t> parse_memory_limit(std::string_view name, std::string_view content) {
  if (name != kV1Statistics) return parse_bytes(content);
  for (const std::string_view line : split(content, '\n')) {
    if (line.starts_with(kV1Hierarchical)) return parse_bytes(line.substr(kV1Hierarchical.size()));
  }
  return std::nullopt;
}

MemoryLimit memory_limit(const std::filesystem::path& root, int64_t physical) {
  const auto groups = parse_control_groups(content_of(root, "/proc/self/cgroup"));
  const auto mounts = parse_control_group_mounts(content_of(root, "/proc/self/mountinfo"));
  MemoryLimit least = {physical, ""};
  for (const std::string& file : memory_limit_files(groups, mounts)) {
    const std::string name = file.substr(file.rfind('/') + 1);
    const auto bytes = parse_memory_limit(name, content_of(root, file));
    if (bytes && *bytes < least.bytes) least = {*bytes, file};
  }
  return least;
}

int64_t default_kv_bytes(const MemoryLimit& memory) {
  return std::max(kKvBytesMin, memory.bytes / 2);
}

int64_t default_state_bytes(const MemoryLimit& memory) {
  return std::clamp<int64_t>(memory.bytes / 8, int64_t{256} << 20, int64_t{2} << 30);
}

MemoryLimit memory_limit() {
  const auto physical = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  return memory_limit("/", physical);
}

}  // namespace cascade
