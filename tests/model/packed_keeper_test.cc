// Packed weights that are kept while they are in use.
#include "model/packed_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "model/packed_memory.h"
#include "tests/failing_file_calls.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

using ::testing::HasSubstr;

// Three pieces, of which the last is short.
constexpr size_t kBytes = 2 * kPackedPieceBytes + 5000;

// Weights in memory, and a place to keep them.
class PackedKeeperTest : public ::testing::Test {
 protected:
  void make(size_t bytes = kBytes) {
    memory_ = *PackedMemory::allocate(bytes);
    for (size_t i = 0; i < std::min(bytes, kBytes); i += 8) {
      const uint64_t number = counter_random(7, i);
      std::memcpy(memory_.data() + i, &number, sizeof number);
    }
    expected_.assign(memory_.data(), memory_.data() + memory_.bytes());
  }
  std::unique_ptr<PackedKeeper> keep(FileCalls& calls) {
    auto file = NewFile::create(calls, folder_.path().string());
    if (!file.ok()) return nullptr;
    return std::make_unique<PackedKeeper>(
        calls, std::move(file).value(), id(), path(), std::span(memory_.data(), memory_.bytes()),
        [this](const Error& error, std::string_view consequence) {
          failure_ = error.field + ": " + error.message + "; " + std::string(consequence);
        });
  }
  PackedFileId id() const { return {{}, {}, memory_.bytes()}; }
  std::string path() const { return (folder_.path() / "kept").string(); }
  bool intact() const {
    return std::ranges::equal(std::span(memory_.data(), memory_.bytes()), expected_);
  }
  // Whether the file holds the weights.
  bool kept() const {
    if (!std::filesystem::exists(path())) return false;
    const std::string bytes = *read_file(path(), size_t{1} << 30);
    return bytes.size() == id().file_bytes() &&
           std::equal(expected_.begin(), expected_.end(), bytes.begin() + long(id().body_offset()),
                      [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
  }
  size_t files() const {
    return size_t(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  // Whether the memory at this byte of the weights is the file's.
  bool is_mapped(size_t byte) const {
    const auto at = reinterpret_cast<uintptr_t>(memory_.data() + byte);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      const uintptr_t begin = std::stoull(line, nullptr, 16);
      const uintptr_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
      if (begin <= at && at < end)
        return line.ends_with(std::filesystem::canonical(path()).native());
    }
    return false;
  }

  TemporaryFolder folder_;
  PackedMemory memory_;
  std::vector<uint8_t> expected_;
  std::optional<std::string> failure_;
};

TEST_F(PackedKeeperTest, maps_the_file_over_the_memory_with_the_same_bytes) {
  make();
  const uint8_t* const before = memory_.data();
  keep(system_file_calls())->wait();
  EXPECT_FALSE(failure_) << *failure_;
  EXPECT_TRUE(kept());
  EXPECT_TRUE(intact());
  EXPECT_EQ(memory_.data(), before);
  for (const size_t byte : {size_t{0}, kPackedPieceBytes, kBytes - 1}) {
    EXPECT_TRUE(is_mapped(byte)) << byte;
  }
}

TEST_F(PackedKeeperTest, lets_others_read_the_weights_meanwhile) {
  make();
  std::atomic<bool> done = false;
  int wrong = 0;
  std::thread reader([&] {
    do {
      for (size_t i = 0; i < kBytes; i += 1024) wrong += memory_.data()[i] != expected_[i];
      std::this_thread::yield();
    } while (!done);
  });
  for (int i = 0; i < 3; ++i) keep(system_file_calls())->wait();
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(failure_) << *failure_;
}

TEST_F(PackedKeeperTest, keeps_the_bytes_whatever_call_fails) {
  bool all_calls_seen = false;
  for (int n = 1; !all_calls_seen; ++n) {
    make();
    FailingFileCalls calls(n);
    failure_.reset();
    const auto keeper = keep(calls);
    if (keeper != nullptr) keeper->wait();
    all_calls_seen = !calls.failed();
    EXPECT_TRUE(intact()) << n;
    if (std::filesystem::exists(path())) {
      EXPECT_TRUE(kept()) << n;
      EXPECT_EQ(files(), 1u) << n;
    }
    std::filesystem::remove(path());
  }
  EXPECT_FALSE(failure_) << *failure_;
}

TEST_F(PackedKeeperTest, says_what_failed_and_what_follows) {
  make();
  class FullDisk : public FileCalls {
   public:
    ssize_t write(int, const void*, size_t, uint64_t) override {
      errno = ENOSPC;
      return -1;
    }
  } full;
  keep(full)->wait();
  ASSERT_TRUE(failure_);
  EXPECT_THAT(*failure_, HasSubstr("No space left on device; packed weights are not kept"));
  EXPECT_THAT(*failure_, HasSubstr(path()));
  EXPECT_EQ(files(), 0u);
}

TEST_F(PackedKeeperTest, maps_nothing_that_reads_back_wrong) {
  make();
  class Forgetful : public FileCalls {
   public:
    ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset) override {
      const auto* begin = static_cast<const uint8_t*>(from);
      std::vector<uint8_t> wrong(begin, begin + bytes);
      if (offset > kPackedBodyAlignment) wrong[3] ^= 1;
      return FileCalls::write(fd, wrong.data(), bytes, offset);
    }
  } calls;
  keep(calls)->wait();
  ASSERT_TRUE(failure_);
  EXPECT_THAT(*failure_, HasSubstr("does not read back as it was written"));
  EXPECT_THAT(*failure_, HasSubstr("the weights from there on keep their own memory"));
  EXPECT_TRUE(intact());
  EXPECT_EQ(files(), 0u);
}

// Holds the first write until it is released.
class HeldCalls : public FileCalls {
 public:
  ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset) override {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [this] { return is_released_; });
    return FileCalls::write(fd, from, bytes, offset);
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    released_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  bool is_released_ = false;
};

TEST_F(PackedKeeperTest, that_is_ended_leaves_a_whole_file_or_none) {
  for (const bool large : {false, true}) {
    make(large ? PackedKeeper::kFinishBytes + 2 * kPackedPieceBytes : kBytes);
    HeldCalls calls;
    const auto keeper = keep(calls);
    keeper->end();
    calls.release();
    keeper->wait();
    EXPECT_EQ(kept(), !large);
    EXPECT_EQ(files(), large ? 0u : 1u);
    EXPECT_TRUE(intact());
    EXPECT_FALSE(failure_);
    std::filesystem::remove(path());
  }
}

}  // namespace
}  // namespace cascade::testing
