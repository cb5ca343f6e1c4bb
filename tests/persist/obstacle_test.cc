// Folders, links, pipes and the like in the places of files that are only a cache: such obstacles
// make no later request fail, they are kept aside, and no link is followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/set_aside.h"
#include "persist/backup.h"
#include "persist/chain_states.h"
#include "persist/fsck.h"
#include "tests/persist/store_testing.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ok;
using testing::TemporaryFolder;
using testing::TestChain;
using ::testing::UnorderedElementsAreArray;

constexpr char kOutside[] = "bytes of somebody else";

// Something that may lie in a file's place.
struct Obstacle {
  std::string name;
  std::function<void(const fs::path& path, const fs::path& outside)> make;
};

void make_socket(const fs::path& path, const fs::path&) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.string().size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, path.c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
}

const std::vector<Obstacle>& obstacles() {
  using P = const fs::path&;
  static const std::vector<Obstacle> all = {
      {"is a folder", [](P path, P) { fs::create_directory(path); }},
      {"is a folder",
       [](P path, P) {
         fs::create_directory(path);
         std::ofstream(path / "file") << "in it";
       }},
      {"is a link", [](P path, P outside) { fs::create_symlink(outside, path); }},
      {"is a link", [](P path, P) { fs::create_symlink("nowhere", path); }},
      {"is a link", [](P path, P) { fs::create_symlink(path.filename(), path); }},
      {"is a link", [](P path, P outside) { fs::create_symlink(outside.parent_path(), path); }},
      {"is a pipe", [](P path, P) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }},
      {"is a socket", make_socket},
  };
  return all;
}

std::string text_of(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding.where + " " + finding.what + "\n";
  return text;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A state directory with a chunk and with two chains, each in a KV file of its own.
class ObstacleTest : public ::testing::Test {
 protected:
  ObstacleTest() : outside_(folder_.write("outside", kOutside)) {
    options_.kv.free_bytes_min = 0;
    options_.kv.file_bytes_max = 1;
  }
  // Makes a fresh state directory, in which `obstacle` has replaced a KV file.
  void set_up(const Obstacle& obstacle) {
    state_ = folder_.path() / ("state" + std::to_string(++count_));
    {
      auto store = open();
      ASSERT_TRUE(ok(store));
      ASSERT_TRUE(ok((*store)->put(testing::make_chunk(1))));
      for (const TestChain& chain : chains_) {
        ASSERT_TRUE(ok((*store)->kv().append(chain.run(), 1)));
        ASSERT_TRUE(ok((*store)->commit()));
      }
    }
    replace(obstacle);
  }
  void replace(const Obstacle& obstacle) {
    ASSERT_TRUE(fs::remove(first_file()));
    obstacle.make(first_file(), outside_);
  }
  Result<std::unique_ptr<Store>> open(FileCalls& calls = system_file_calls()) {
    return Store::open(calls, state_, options_);
  }
  fs::path first_file() const { return state_ / "kv" / "00000001.kv"; }
  fs::path aside() const { return first_file().string() + ".aside"; }
  static bool is_there(const fs::path& path) {
    return fs::symlink_status(path).type() != fs::file_type::not_found;
  }
  // The texts and the other chain are there, and this chain can be written again.
  void expect_whole(Store& store) {
    EXPECT_EQ(store.load()->size(), 1u);
    EXPECT_EQ(count_pages(store.kv(), chains_[1]), 3u);
    EXPECT_EQ(count_pages(store.kv(), chains_[0]), 0u);
    ASSERT_TRUE(ok(store.kv().append(chains_[0].run(), 2)));
    ASSERT_TRUE(ok(store.commit()));
    EXPECT_EQ(count_pages(store.kv(), chains_[0]), 3u);
    EXPECT_EQ(content_of(outside_), kOutside);
  }

  const TemporaryFolder folder_;
  const fs::path outside_;
  const std::vector<TestChain> chains_ = {TestChain(1), TestChain(2)};
  StoreOptions options_;
  fs::path state_;
  int count_ = 0;
};

TEST_F(ObstacleTest, in_the_place_of_a_kv_file_stops_no_start) {
  for (const Obstacle& obstacle : obstacles()) {
    set_up(obstacle);
    {
      auto store = open();
      ASSERT_TRUE(ok(store)) << obstacle.name;
      const std::string findings = text_of((*store)->findings());
      EXPECT_THAT(findings, HasSubstr(first_file().string() + " " + obstacle.name));
      EXPECT_THAT(findings, HasSubstr("00000001.kv.aside now"));
      EXPECT_TRUE(is_there(aside())) << obstacle.name;
      expect_whole(**store);
    }
    auto again = open();
    ASSERT_TRUE(ok(again)) << obstacle.name;
    EXPECT_EQ(text_of((*again)->findings()), "");
    EXPECT_EQ(count_pages((*again)->kv(), chains_[0]), 3u);
  }
}

TEST_F(ObstacleTest, that_is_a_device_stops_no_start) {
  const fs::path probe = folder_.path() / "probe";
  if (::mknod(probe.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "this user may not make devices";
  }
  set_up({"is", [](const fs::path& path, const fs::path&) {
            ASSERT_EQ(::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
          }});
  auto store = open();
  ASSERT_TRUE(ok(store));
  EXPECT_TRUE(is_there(aside()));
  expect_whole(**store);
}

// Forbids opening one file, as its mode does for a user to whom modes apply.
class Forbidding : public FileCalls {
 public:
  explicit Forbidding(std::string path) : path_(std::move(path)) {}
  int open(const std::string& path, int flags, mode_t mode) override {
    if (path != path_) return FileCalls::open(path, flags, mode);
    errno = EACCES;
    return -1;
  }

 private:
  std::string path_;
};

TEST_F(ObstacleTest, that_may_not_be_read_stops_no_start) {
  set_up({"", [](const fs::path& path, const fs::path&) { std::ofstream(path) << "sealed"; }});
  Forbidding calls(first_file());
  auto store = open(calls);
  ASSERT_TRUE(ok(store));
  EXPECT_THAT(text_of((*store)->findings()), HasSubstr("may not be read and written"));
  EXPECT_EQ(content_of(aside()), "sealed");
  expect_whole(**store);
}

TEST_F(ObstacleTest, that_cannot_be_moved_stays_and_is_not_used) {
  class Fixed : public FileCalls {
   public:
    int rename(const std::string&, const std::string&) override {
      errno = EBUSY;  // as for a mount point
      return -1;
    }
  } calls;
  set_up(obstacles().front());
  for (int start = 0; start < 2; ++start) {
    auto store = open(calls);
    ASSERT_TRUE(ok(store)) << start;
    EXPECT_THAT(text_of((*store)->findings()), HasSubstr("it stays there, and is not used"));
    EXPECT_TRUE(fs::is_directory(first_file()));
    EXPECT_EQ(count_pages((*store)->kv(), chains_[1]), 3u);
    ASSERT_TRUE(ok((*store)->kv().append(chains_[0].run(), 2)));
    ASSERT_TRUE(ok((*store)->commit()));
    EXPECT_EQ(count_pages((*store)->kv(), chains_[0]), 3u);
    ASSERT_TRUE(ok((*store)->kv().remove(chains_[0].keys)));
    ASSERT_TRUE(ok((*store)->commit()));
  }
}

TEST_F(ObstacleTest, is_kept_beside_earlier_ones) {
  set_up(obstacles().front());
  std::ofstream(aside()) << "first";
  ASSERT_TRUE(ok(open()));
  EXPECT_EQ(content_of(aside()), "first");
  EXPECT_TRUE(fs::is_directory(first_file().string() + ".aside2"));
}

TEST_F(ObstacleTest, that_comes_while_the_store_is_open_is_found_by_fsck) {
  for (const Obstacle& obstacle : obstacles()) {
    set_up({"", [](const fs::path&, const fs::path&) {}});
    fs::remove_all(state_);
    auto opened = open();
    ASSERT_TRUE(ok(opened));
    Store& store = **opened;
    ASSERT_TRUE(ok(store.put(testing::make_chunk(1))));
    for (const TestChain& chain : chains_) ASSERT_TRUE(ok(store.kv().append(chain.run(), 1)));
    ASSERT_TRUE(ok(store.commit()));
    replace(obstacle);
    auto backup = Backup::begin(store, state_.string() + ".backup");
    ASSERT_TRUE(ok(backup));
    for (bool more = true; more;) {
      const auto step = (*backup)->step(1 << 20);
      ASSERT_TRUE(ok(step)) << obstacle.name;
      more = *step;
    }
    EXPECT_EQ(store.kv().counters().pages_not_copied, 3u) << obstacle.name;
    Fsck fsck(store, /*repair=*/true);
    for (bool more = true; more;) {
      const auto step = fsck.step(1 << 20);
      ASSERT_TRUE(ok(step)) << obstacle.name;
      more = *step;
    }
    ASSERT_EQ(fsck.found().size(), 3u) << obstacle.name;
    for (const Fsck::Found& found : fsck.found()) {
      EXPECT_TRUE(found.repaired) << obstacle.name;
      EXPECT_THAT(found.finding.what, HasSubstr(obstacle.name));
    }
    expect_whole(store);
  }
}

TEST_F(ObstacleTest, that_comes_while_the_store_is_open_costs_its_pages_only) {
  for (const Obstacle& obstacle : obstacles()) {
    set_up(obstacles().front());
    auto store = open();
    ASSERT_TRUE(ok(store));
    // The second file is the newest, so the next pages would be appended to it.
    const fs::path second = state_ / "kv" / "00000002.kv";
    ASSERT_TRUE(fs::remove(second));
    obstacle.make(second, outside_);
    EXPECT_TRUE(read_chain((*store)->kv(), chains_[1]).error.has_value());
    EXPECT_THAT((*store)->kv().take_forgotten(), UnorderedElementsAreArray(chains_[1].keys));
    for (const TestChain& chain : chains_) {
      ASSERT_TRUE(ok((*store)->kv().append(chain.run(), 2))) << obstacle.name;
      ASSERT_TRUE(ok((*store)->commit())) << obstacle.name;
    }
    for (const TestChain& chain : chains_) EXPECT_EQ(count_pages((*store)->kv(), chain), 3u);
    EXPECT_EQ(content_of(outside_), kOutside);
  }
}

TEST_F(ObstacleTest, in_the_place_of_the_kv_folder_stops_no_start) {
  for (const Obstacle& obstacle : obstacles()) {
    set_up({"", [](const fs::path&, const fs::path&) {}});
    const fs::path kv = state_ / "kv";
    fs::remove_all(kv);
    obstacle.make(kv, outside_);
    std::error_code none;
    if (fs::is_directory(kv, none)) continue;  // a folder, or the owner's link to one
    auto store = open();
    ASSERT_TRUE(ok(store)) << obstacle.name;
    EXPECT_THAT(text_of((*store)->findings()), HasSubstr("it is kv.aside now"));
    EXPECT_TRUE(is_there(state_ / "kv.aside"));
    EXPECT_EQ((*store)->load()->size(), 1u);
    for (const TestChain& chain : chains_) {
      ASSERT_TRUE(ok((*store)->kv().append(chain.run(), 2)));
      ASSERT_TRUE(ok((*store)->commit()));
      EXPECT_EQ(count_pages((*store)->kv(), chain), 3u);
    }
    EXPECT_EQ(content_of(outside_), kOutside);
  }
}

TEST_F(ObstacleTest, in_the_place_of_the_count_of_commits_stops_no_start) {
  for (const Obstacle& obstacle : obstacles()) {
    set_up({"", [](const fs::path& path, const fs::path&) { std::ofstream(path) << ""; }});
    fs::remove(state_ / "commits");
    obstacle.make(state_ / "commits", outside_);
    auto store = open();
    ASSERT_TRUE(ok(store)) << obstacle.name;
    ASSERT_TRUE(ok((*store)->put(testing::make_chunk(2))));
    ASSERT_TRUE(ok((*store)->commit()));
    EXPECT_EQ(content_of(outside_), kOutside);
  }
}

TEST(SetAside, says_why_it_cannot) {
  const TemporaryFolder folder;
  FileCalls& calls = system_file_calls();
  EXPECT_EQ(set_aside(calls, folder.path(), "absent").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(set_aside(calls, folder.path() / "none", "x").error().code, ErrorCode::kNotFound);
  folder.write("file", "a");
  folder.write("file.aside", "b");
  fs::create_symlink("nowhere", folder.path() / "file.aside2");
  EXPECT_EQ(*set_aside(calls, folder.path(), "file"), "file.aside3");
  EXPECT_EQ(content_of(folder.path() / "file.aside3"), "a");
}

TEST(Obstacles, in_the_place_of_the_folder_of_states_are_set_aside) {
  for (const bool link : {false, true}) {
    const TemporaryFolder folder;
    auto pages = Store::open(system_file_calls(), folder.path(), testing::test_options());
    ASSERT_TRUE(ok(pages));
    const fs::path states = fs::path(folder.path()) / "states";
    link ? fs::create_symlink("nowhere", states) : void(std::ofstream(states) << "bytes");
    {
      const auto opened = ChainStates::open(**pages, testing::test_options().kv);
      ASSERT_TRUE(ok(opened));
      ASSERT_EQ((*opened)->findings().size(), 1u);
      EXPECT_THAT((*opened)->findings()[0].what, HasSubstr("states are computed again"));
    }
    EXPECT_TRUE(fs::is_directory(states));
    EXPECT_TRUE(fs::exists(fs::symlink_status(states.string() + ".aside")));
  }
}

}  // namespace
}  // namespace cascade
