// Memory limits of control groups, with /proc and /sys made by the tests.
#include "base/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "tests/seed.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kMachine = int64_t{16} << 30;
constexpr char kUnified[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr char kV1[] =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n";

// A machine's root folder.
class Machine {
 public:
  Machine(std::string_view cgroup, std::string_view mountinfo) {
    write("/proc/self/cgroup", cgroup);
    write("/proc/self/mountinfo", mountinfo);
  }
  Machine& write(std::string_view path, std::string_view content) {
    const std::filesystem::path below = path.substr(1);
    std::filesystem::create_directories(root_.path() / below.parent_path());
    root_.write(below.string(), content);
    return *this;
  }
  const std::filesystem::path& root() const { return root_.path(); }
  MemoryLimit limit() const { return memory_limit(root_.path(), kMachine); }

 private:
  testing::TemporaryFolder root_;
};

TEST(MemoryLimit, is_the_machines_memory_where_nothing_limits_it) {
  const Machine none("0::/\n", kUnified);
  EXPECT_EQ(none.limit().bytes, kMachine);
  EXPECT_EQ(none.limit().set_by, "");
  const testing::TemporaryFolder empty;
  EXPECT_EQ(memory_limit(empty.path(), kMachine).bytes, kMachine);
  EXPECT_EQ(memory_limit("/nonexistent", kMachine).bytes, kMachine);
}

TEST(MemoryLimit, of_this_process_is_that_of_this_machine_at_most) {
  EXPECT_GT(memory_limit().bytes, 0);
  const auto physical = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  EXPECT_LE(memory_limit().bytes, physical);
}

TEST(MemoryLimit, of_a_unit_is_in_the_folder_of_its_group) {
  Machine machine("0::/system.slice/cascaded.service\n", kUnified);
  const std::string folder = "/sys/fs/cgroup/system.slice/cascaded.service/";
  machine.write(folder + "memory.max", "167772160\n").write(folder + "memory.high", "max\n");
  EXPECT_EQ(machine.limit().bytes, 160 * kMiB);
  EXPECT_EQ(machine.limit().set_by, folder + "memory.max");
  machine.write(folder + "memory.high", "104857600\n");
  EXPECT_EQ(machine.limit().bytes, 100 * kMiB);
  EXPECT_EQ(machine.limit().set_by, folder + "memory.high");
}

TEST(MemoryLimit, of_every_group_above_holds) {
  for (const char* group : {"", "/a", "/a/b", "/a/b/c"}) {
    Machine machine("0::/a/b/c\n", kUnified);
    for (const char* each : {"/a", "/a/b", "/a/b/c"}) {
      machine.write("/sys/fs/cgroup" + std::string(each) + "/memory.max", "max\n");
    }
    const std::string file = "/sys/fs/cgroup" + std::string(group) + "/memory.max";
    machine.write(file, "1048576\n");
    EXPECT_EQ(machine.limit().bytes, kMiB) << group;
    EXPECT_EQ(machine.limit().set_by, file);
  }
  Machine beside("0::/a/b\n", kUnified);
  beside.write("/sys/fs/cgroup/a/c/memory.max", "1").write("/sys/fs/cgroup/ab/memory.max", "1");
  beside.write("/sys/fs/cgroup/a/b/c/memory.max", "1");
  EXPECT_EQ(beside.limit().bytes, kMachine) << "groups that it is not in";
}

TEST(MemoryLimit, of_version_1_is_read) {
  const std::string none = "9223372036854771712\n";
  Machine machine("5:cpu,cpuacct:/x\n4:memory:/a/b\n1:name=systemd:/y\n0::/\n", kV1);
  machine.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", none);
  machine.write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", none);
  machine.write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "167772160\n");
  EXPECT_EQ(machine.limit().bytes, 160 * kMiB);
  machine.write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "1048576\n");
  EXPECT_EQ(machine.limit().bytes, kMiB);
}

TEST(MemoryLimit, of_version_1_counts_groups_that_a_container_does_not_see) {
  Machine machine("4:memory:/docker/abc\n",
                  "33 31 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  machine.write("/sys/fs/cgroup/memory/memory.stat",
                "cache 1\nhierarchical_memory_limit 2097152\nhierarchical_memsw_limit 1\n");
  EXPECT_EQ(machine.limit().bytes, 2 * kMiB);
}

TEST(MemoryLimit, of_a_hybrid_machine_is_the_lesser_of_both) {
  Machine machine("4:memory:/a\n0::/b\n",
                  std::string(kV1) + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n");
  machine.write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2097152");
  machine.write("/sys/fs/cgroup/unified/b/memory.max", "1048576");
  EXPECT_EQ(machine.limit().set_by, "/sys/fs/cgroup/unified/b/memory.max");
  machine.write("/sys/fs/cgroup/unified/b/memory.max", "max");
  EXPECT_EQ(machine.limit().set_by, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
}

TEST(MemoryLimit, of_a_container_is_found_from_the_root_of_its_mount) {
  // The path is that of the machine; the mount shows a part of it.
  Machine part("0::/docker/abc/worker\n",
               "33 31 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  part.write("/sys/fs/cgroup/worker/memory.max", "1048576");
  EXPECT_EQ(part.limit().bytes, kMiB);
  // In a namespace of its own, the mount or the group begins above the paths that the process can
  // name. Then only the mount's root is known.
  for (const auto& [path, root] :
       {std::pair("/", "/../.."), std::pair("/../x", "/"), std::pair("/x", "/docker/abc"),
        std::pair("/docker/abcd", "/docker/abc")}) {
    Machine apart("0::" + std::string(path) + "\n",
                  "33 31 0:30 " + std::string(root) + " /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    apart.write("/sys/fs/cgroup/memory.max", "2097152");
    EXPECT_EQ(apart.limit().bytes, 2 * kMiB) << path << " below " << root;
  }
}

TEST(MemoryLimit, is_looked_for_at_the_usual_places_without_mounts) {
  for (const char* file :
       {"/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory/b/memory.limit_in_bytes"}) {
    Machine machine("0::/a\n3:memory:/b\n", "");
    machine.write(file, "1048576");
    EXPECT_EQ(machine.limit().bytes, kMiB) << file;
  }
}

TEST(MemoryLimit, takes_places_with_spaces_and_paths_with_colons) {
  Machine machine("0::/a b:c\n", "33 31 0:30 / /sys/my\\040groups ro - cgroup2 cgroup rw\n");
  machine.write("/sys/my groups/a b:c/memory.max", "1048576");
  EXPECT_EQ(machine.limit().bytes, kMiB);
}

TEST(MemoryLimit, leaves_out_what_is_no_number_and_what_is_no_file) {
  for (const char* content :
       {"max", "max\n", "", "\n", "-1", "1 2", "1K", "0x10", "nan", " 1", "9223372036854771712",
        "9223372036854775807", "9223372036854775808", "99999999999999999999999999"}) {
    Machine machine("0::/a\n", kUnified);
    machine.write("/sys/fs/cgroup/a/memory.max", content);
    EXPECT_EQ(machine.limit().bytes, kMachine) << content;
  }
  Machine zero("0::/a\n", kUnified);
  zero.write("/sys/fs/cgroup/a/memory.max", "0\n");
  EXPECT_EQ(zero.limit().bytes, 0) << "that is a limit";
  Machine machine("0::/a\n", kUnified);
  std::filesystem::create_directories(machine.root() / "sys/fs/cgroup/a/memory.max");
  ASSERT_EQ(::mkfifo((machine.root() / "sys/fs/cgroup/memory.max").c_str(), 0600), 0);
  machine.write("/sys/fs/cgroup/a/memory.high", "1048576");
  EXPECT_EQ(machine.limit().bytes, kMiB);
}

TEST(MemoryLimit, is_not_misled_by_lines_that_are_none) {
  const ControlGroups groups =
      parse_control_groups("::\n0:\n0::\n0::relative\n:memory:\n1:cpu:/c\nmemory\n7:memory,x:/m");
  EXPECT_EQ(groups.unified, std::nullopt);
  EXPECT_EQ(groups.memory_v1, "/m");
  EXPECT_THAT(parse_control_group_mounts(
                  "\n-\n - cgroup2\n1 2 3 / /p rw - cgroup2 x\n1 2 3 r /p rw - cgroup2 x y\n"
                  "1 2 3 / p rw - cgroup2 x y\n1 2 3 / /p rw - cgroup x y,nomemory\n"
                  "1 2 3 / /p - cgroup2 x y\n1 2 3 / /\\9\\0401\\0 rw - cgroup2 x y"),
              ElementsAre(ControlGroupMount{true, "/", "/\\9 1\\0"}));
  EXPECT_THAT(memory_limit_files({"/a", std::nullopt}, {{false, "/", "/v1"}}),
              ElementsAre("/v1/memory.limit_in_bytes", "/v1/memory.stat"));
  const std::string deep = [] {
    std::string path;
    for (int i = 0; i < 5'000; ++i) path += "/x";
    return path;
  }();
  EXPECT_THAT(memory_limit_files({deep, std::nullopt}, {{true, "/", "/v2"}}),
              ElementsAre("/v2/memory.max", "/v2/memory.high"));
}

TEST(MemoryLimit, survives_random_bytes) {
  Random random(testing::test_seed());
  const std::string_view words[] = {
      "/",       "0",     ":",  "memory", "\n", " ",   "-", "cgroup",
      "cgroup2", "\\040", "\\", "..",     "rw", "max", ",", "hierarchical_memory_limit "};
  for (int round = 0; round < 2'000; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += words[random.below(std::size(words))];
    const ControlGroups groups = parse_control_groups(text);
    const auto mounts = parse_control_group_mounts(text);
    for (const std::string& file : memory_limit_files(groups, mounts)) {
      EXPECT_TRUE(file.starts_with('/')) << text;
    }
    const auto limit = parse_memory_limit("memory.stat", text);
    EXPECT_GE(limit.value_or(0), 0) << text;
  }
}

}  // namespace
}  // namespace cascade
