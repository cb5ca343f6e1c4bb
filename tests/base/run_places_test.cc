// Tests of the places of daemons' sockets, with the cases that all clients share.
#include "base/run_places.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "tests/places.h"

namespace cascade {
namespace {

using Places = std::vector<std::string>;

TEST(RunPlaces, are_those_that_all_clients_know) {
  const auto file =
      read_file(testing::source_dir() / "tests/run_places.json", 1 << 20);
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  const Json cases = Json::parse(*file);
  EXPECT_GT(cases.size(), 10u);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["case"].get<std::string>());
    const auto owners = one["owners"].get<std::map<std::string, uid_t>>();
    const RunSurroundings around = {one["user"].get<uid_t>(),
                                    one["environment"].value("RUNTIME_DIRECTORY", ""),
                                    one["environment"].value("XDG_RUNTIME_DIR", ""),
                                    [&](const std::string& path) -> std::optional<uid_t> {
                                      const auto owner = owners.find(path);
                                      if (owner == owners.end()) return std::nullopt;
                                      return owner->second;
                                    }};
    EXPECT_EQ(own_run_dirs(around), one["own"].get<Places>());
    EXPECT_EQ(client_run_dirs(around), one["client"].get<Places>());
    // Clients find the first place of the daemon, unless that place must still be made in /tmp.
    if (own_run_dirs(around).size() > 1) {
      EXPECT_EQ(own_run_dirs(around).front(), client_run_dirs(around).front());
    }
  }
}

TEST(RunPlaces, depend_on_this_process) {
  const RunSurroundings around = run_surroundings();
  EXPECT_EQ(around.user, ::geteuid());
  EXPECT_EQ(around.owner_of("/"), 0u);
  EXPECT_EQ(around.owner_of("/proc/self"), std::nullopt) << "a link";
  EXPECT_EQ(around.owner_of("/proc/version"), std::nullopt) << "no folder";
  EXPECT_EQ(around.owner_of("/no/such/folder"), std::nullopt);
}

}  // namespace
}  // namespace cascade
