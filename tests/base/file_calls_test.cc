// File operations through the seam: bytes in several parts, holes, locks, and systems that do less
// than they are asked for.
#include "base/file_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/failing_file_calls.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using testing::FailingFileCalls;
using testing::Fault;
using testing::TemporaryFolder;

constexpr size_t kParts = 3000;  // more than one system call takes
constexpr size_t kPartBytes = 7;

struct Parts {
  explicit Parts(uint8_t first) : bytes(kParts * kPartBytes) {
    std::iota(bytes.begin(), bytes.end(), first);
    for (size_t i = 0; i < kParts; ++i) {
      parts.push_back({bytes.data() + i * kPartBytes, kPartBytes});
      if (i % 100 == 0) parts.push_back({nullptr, 0});
    }
  }
  std::vector<uint8_t> bytes;
  std::vector<iovec> parts;
};

TEST(FileCalls, many_parts_are_written_and_read) {
  const TemporaryFolder folder;
  // From the first write on, each call does only half of its work.
  FailingFileCalls short_calls(1, true, 0, system_file_calls(), Fault::kShortWrite);
  for (FileCalls* calls : {&system_file_calls(), static_cast<FileCalls*>(&short_calls)}) {
    const OwnedFd file(*calls, calls->open(folder.path() / "parts", O_RDWR | O_CREAT, 0600));
    const Parts written(1);
    ASSERT_TRUE(write_parts_fully(*calls, file.fd(), written.parts, 10, "parts").ok());
    Parts read(9);
    const auto bytes = read_parts_fully(*calls, file.fd(), read.parts, 10, "parts");
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(*bytes, kParts * kPartBytes);
    EXPECT_EQ(read.bytes, written.bytes);
    Parts tail(0);
    EXPECT_EQ(*read_parts_fully(*calls, file.fd(), tail.parts, 11, "parts"),
              kParts * kPartBytes - 1);
  }
}

TEST(FileCalls, an_error_names_the_file) {
  const TemporaryFolder folder;
  FailingFileCalls calls(2, true, ENOSPC);
  const OwnedFd file(calls, calls.open(folder.path() / "full", O_RDWR | O_CREAT, 0600));
  const Parts parts(1);
  EXPECT_EQ(write_parts_fully(calls, file.fd(), parts.parts, 0, "full").error().field, "full");
  EXPECT_EQ(read_parts_fully(calls, file.fd(), parts.parts, 0, "full").error().field, "full");
  EXPECT_EQ(sync_folder(calls, "folder").error().field, "folder");
}

TEST(FileCalls, holes_read_zero_and_locks_exclude) {
  const TemporaryFolder folder;
  FileCalls& calls = system_file_calls();
  const std::string path = folder.path() / "file";
  const OwnedFd file(calls, calls.open(path, O_RDWR | O_CREAT, 0600));
  const std::vector<uint8_t> ones(8192, 1);
  ASSERT_TRUE(write_fully(calls, file.fd(), ones, 0, path).ok());
  ASSERT_EQ(calls.sync_data(file.fd()), 0);
  ASSERT_EQ(calls.sync(file.fd()), 0);
  ASSERT_TRUE(sync_folder(calls, folder.path()).ok());
  if (calls.punch(file.fd(), 0, 4096) == 0) {
    const auto read = read_fully(calls, file.fd(), 8192, 0, path);
    EXPECT_EQ(std::accumulate(read->begin(), read->end(), 0), 4096);
  } else {
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
  ASSERT_EQ(calls.truncate(file.fd(), 100), 0);
  EXPECT_EQ(read_fully(calls, file.fd(), 8192, 0, path)->size(), 100u);
  EXPECT_EQ(calls.will_need(file.fd(), 0, 100), 0);
  uint64_t free = 0;
  EXPECT_EQ(calls.free_bytes(folder.path(), free), 0);
  EXPECT_GT(free, 0u);
  EXPECT_EQ(calls.free_bytes(folder.path() / "nothing", free), -1);
  ASSERT_EQ(calls.lock_range(file.fd(), 10, 20), 0);
  OwnedFd other(calls, calls.open(path, O_RDWR));
  EXPECT_EQ(calls.lock_range(other.fd(), 29, 1), -1);
  EXPECT_EQ(calls.lock_range(other.fd(), 30, 1), 0);
}

}  // namespace
}  // namespace cascade
