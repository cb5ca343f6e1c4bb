// Which folder may include which (the arrows), and which libraries only some files may use.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>

#include "tests/places.h"
#include "tests/tidy/source_code.h"
#include "tests/tidy/source_tree.h"

namespace cascade::tidy {
namespace {

// What a folder may include besides itself: folders, or single headers where the rest is not
// allowed.
const std::map<std::string, std::vector<std::string>>& arrows() {
  static const std::map<std::string, std::vector<std::string>> allowed = {
      {"base", {}},
      {"config", {"base/"}},
      {"kernels", {"base/"}},
      {"cache", {"base/"}},
      {"persist", {"base/"}},
      {"wire", {"base/"}},
      {"model", {"cache/attention_pages.h", "cache/kv_view.h", "kernels/", "base/"}},
      // The engine passes its thread pool to the forward pass; all other kernels are the model's
      // business.
      {"actors", {"model/", "cache/", "persist/", "wire/", "kernels/thread_pool.h", "base/"}},
      // The only main() of the service puts everything together.
      {"daemon",
       {"actors/", "config/", "model/", "cache/", "persist/", "wire/", "kernels/", "base/"}},
      {"clients", {"config/", "persist/", "wire/", "base/"}},
      // bench measures kernels by themselves, and the service as its clients see it.
      {"bench", {"model/", "cache/", "persist/", "kernels/", "clients/cpp/", "wire/", "base/"}},
      {"tests",
       {"actors/", "base/", "bench/", "cache/", "clients/", "config/", "daemon/", "kernels/",
        "model/", "persist/", "wire/"}},
      {"scripts", {}},
  };
  return allowed;
}

bool may_include(const std::string& folder, const std::string& path) {
  if (path.starts_with(folder + "/")) return true;
  for (const std::string& allowed : arrows().at(folder)) {
    if (allowed.ends_with('/') ? path.starts_with(allowed) : path == allowed) return true;
  }
  return false;
}

// A library's headers, and the only files outside tests that may include them.
struct Fence {
  const char* library;
  std::regex headers;
  std::regex files;
  const char* where;
};

const std::vector<Fence>& fences() {
  static const std::vector<Fence> all = {
      {"Boost", std::regex("boost/.*"), std::regex("actors/.*"), "actors"},
      {"ZeroMQ", std::regex("zmq.*"), std::regex("(actors|clients|bench/serve|wire/curve)/.*"),
       "actors, clients, wire/curve and bench/serve"},
      {"The protocol", std::regex("(clients|wire)/.*"),
       std::regex("(actors|bench/serve|clients|daemon|wire)/.*"),
       "the service, its clients and bench/serve"},
      // cascadectl checks and copies the state directory of a daemon that does not run, or asks how
      // much room it has; cascade-bench reads it, and cascade-eval estimates its size.
      {"The store", std::regex("persist/.*"),
       std::regex("(actors|daemon|persist)/.*|clients/ctl/(offline_state|doctor)\\.(cc|h)|"
                  "bench/(serve/kv_read_speed|eval/estimate)\\.cc"),
       "the service and what works on the state directory of one that does not run"},
      {"TOML", std::regex("toml.*"), std::regex("config/.*"), "config"},
      {"systemd", std::regex("systemd/.*"), std::regex("daemon/.*"), "daemon"},
      {"SQLite", std::regex("sqlite3.*"), std::regex("persist/.*"), "persist"},
      // bench/speed measures what instructions can do.
      {"CPU intrinsics",
       std::regex("(imm|x86|[a-z]mm)intrin\\.h|x86gprintrin\\.h|cpuid\\.h|arm_neon\\.h"),
       std::regex("(kernels|bench/speed)/[^/]+/.*"), "kernels/<isa> and bench/speed/<cpu>"},
  };
  return all;
}

// The floor of a file of the scheduler, counted from below, as docs/ARCHITECTURE.md draws the
// folders. All rooms that are in none of these folders have floor 0.
int floor_of(const std::string& path) {
  static const std::vector<std::regex> floors = {
      std::regex("actors/scheduler/disk/.*"), std::regex("actors/scheduler/idle_prefill\\.(h|cc)"),
      std::regex("actors/scheduler/keep/.*"), std::regex("actors/scheduler/doors/.*"),
      std::regex("actors/scheduler/scheduler_(core\\.h|.*\\.cc)")};
  for (size_t i = 0; i < floors.size(); ++i) {
    if (std::regex_match(path, floors[i])) return static_cast<int>(i) + 1;
  }
  return 0;
}

TEST(Includes, of_the_scheduler_lead_to_no_floor_above) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.path.starts_with("actors/scheduler/")) continue;
    for (const Include& include : find_includes(file.text)) {
      if (floor_of(include.path) <= floor_of(file.path)) continue;
      violations.add(file, include.line, "\"" + include.path + "\" is on a floor above");
    }
  }
  EXPECT_TRUE(violations.none());
  EXPECT_LT(floor_of("actors/scheduler/jobs.h"), floor_of("actors/scheduler/disk/disk.h"));
  EXPECT_LT(floor_of("actors/scheduler/disk/disk.h"), floor_of("actors/scheduler/keep/keep.h"));
  EXPECT_LT(floor_of("actors/scheduler/doors/text_door.h"),
            floor_of("actors/scheduler/scheduler_queue.cc"));
}

TEST(Includes, follow_the_arrows) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_cpp()) continue;
    for (const Include& include : find_includes(file.text)) {
      if (!include.quoted || may_include(file.folder, include.path)) continue;
      violations.add(file, include.line, file.folder + " may not include \"" + include.path + "\"");
    }
  }
  EXPECT_TRUE(violations.none());
}

TEST(Includes, exist) {
  const std::filesystem::path root = testing::source_dir();
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_cpp()) continue;
    for (const Include& include : find_includes(file.text)) {
      if (!include.quoted || std::filesystem::is_regular_file(root / include.path)) continue;
      violations.add(file, include.line, "there is no file \"" + include.path + "\"");
    }
  }
  EXPECT_TRUE(violations.none());
}

TEST(Includes, are_quoted_if_they_are_ours) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_cpp()) continue;
    for (const Include& include : find_includes(file.text)) {
      const std::string folder = include.path.substr(0, include.path.find('/') + 1);
      for (const std::string& ours : source_folders()) {
        if (include.quoted || folder != ours + "/") continue;
        violations.add(file, include.line, "write \"" + include.path + "\"");
      }
    }
  }
  EXPECT_TRUE(violations.none());
}

TEST(Includes, keep_libraries_where_they_belong) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_cpp() || file.folder == "tests") continue;
    for (const Include& include : find_includes(file.text)) {
      for (const Fence& fence : fences()) {
        if (!std::regex_match(include.path, fence.headers)) continue;
        if (std::regex_match(file.path, fence.files)) continue;
        violations.add(file, include.line, std::string(fence.library) + " stays in " + fence.where);
      }
    }
  }
  EXPECT_TRUE(violations.none());
}

TEST(Includes, rules_cover_every_folder) {
  for (const std::string& folder : source_folders()) {
    EXPECT_EQ(arrows().count(folder), 1u) << folder;
  }
  EXPECT_TRUE(may_include("model", "cache/kv_view.h"));
  EXPECT_FALSE(may_include("model", "cache/page_pool.h"));
  EXPECT_FALSE(may_include("clients", "actors/worker.h"));
  EXPECT_FALSE(may_include("base", "wire/frames.h"));
}

}  // namespace
}  // namespace cascade::tidy
