// A file is replaced as a whole or not at all.
#include "base/replace_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "base/file.h"
#include "tests/failing_file_calls.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

std::span<const uint8_t> view_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Status replace(FileCalls& calls, const fs::path& path, std::string_view text) {
  return replace_file(calls, path.string(), text);
}

size_t count_files(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

// Writes and reads only a few bytes at a time, as system calls may do.
class ShortCalls : public FileCalls {
 public:
  ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset) override {
    return FileCalls::write(fd, from, std::min(bytes, size_t{3}), offset);
  }
  ssize_t read(int fd, void* to, size_t bytes, uint64_t offset) override {
    return FileCalls::read(fd, to, std::min(bytes, size_t{3}), offset);
  }
};

TEST(ReplaceFile, writes_for_this_user_alone_however_little_each_call_does) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  ShortCalls calls;
  ASSERT_TRUE(replace(calls, path, "ten bytes!").ok());
  EXPECT_EQ(*read_file(path, 100), "ten bytes!");
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(count_files(folder.path()), 1u);
  const OwnedFd file(calls, calls.open(path.string(), O_RDONLY));
  const auto content = read_fully(calls, file.fd(), 100, 1, "file");
  ASSERT_TRUE(content.ok());
  EXPECT_EQ(std::string(content->begin(), content->end()), "en bytes!");
}

TEST(NewFile, that_is_not_committed_leaves_nothing) {
  const TemporaryFolder folder;
  {
    const auto file = NewFile::create(system_file_calls(), folder.path().string());
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(count_files(folder.path()), 1u);
  }
  EXPECT_EQ(count_files(folder.path()), 0u);
}

TEST(ReplaceFile, leaves_the_old_file_or_a_whole_new_one_whatever_fails) {
  bool all_calls_seen = false;
  for (int n = 1; !all_calls_seen; ++n) {
    const TemporaryFolder folder;
    const fs::path path = folder.write("file", "old");
    FailingFileCalls calls(n, false, ENOSPC);
    const Status replaced = replace(calls, path, "new one");
    all_calls_seen = !calls.failed();
    const auto content = read_file(path, 100);
    if (replaced.ok()) {
      EXPECT_EQ(*content, "new one") << n;
    } else {
      EXPECT_EQ(replaced.error().field, path.string());
      // After a failed close, the new file is deleted, since its content is unknown.
      EXPECT_TRUE(!content.ok() || *content == "old") << n;
    }
    EXPECT_LE(count_files(folder.path()), 1u) << n;
  }
}

TEST(ReplaceFile, says_what_stands_in_the_way) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "taken");
  EXPECT_FALSE(replace(system_file_calls(), folder.path() / "taken", "x").ok());
  EXPECT_EQ(count_files(folder.path()), 1u);
  const Status missing = replace(system_file_calls(), folder.path() / "none" / "file", "x");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(ReplaceFile, is_safe_against_writers_and_cleaners_at_the_same_time) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        EXPECT_TRUE(replace(system_file_calls(), path, std::string(1000, char('a' + i))).ok());
        std::vector<std::string> names;
        ASSERT_EQ(system_file_calls().list(folder.path().string(), names), 0);
        for (const std::string& name : names) {
          if (!is_temporary_name(name)) continue;
          remove_if_abandoned(system_file_calls(), (folder.path() / name).string());
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string content = *read_file(path, 2000);
  EXPECT_EQ(content, std::string(1000, content[0]));
  EXPECT_EQ(count_files(folder.path()), 1u);
}

TEST(RemoveIfAbandoned, keeps_what_somebody_writes) {
  const TemporaryFolder folder;
  const std::string name = "new_0123.tmp";
  EXPECT_TRUE(is_temporary_name(name));
  EXPECT_FALSE(is_temporary_name("new_0123.packed"));
  EXPECT_FALSE(is_temporary_name("file.tmp"));
  const fs::path path = folder.write(name, "half");
  FileCalls& calls = system_file_calls();
  {
    const OwnedFd writer(calls, calls.open(path.string(), O_WRONLY));
    ASSERT_EQ(calls.lock(writer.fd()), 0);
    remove_if_abandoned(calls, path.string());
    EXPECT_TRUE(fs::exists(path));
  }
  remove_if_abandoned(calls, path.string());
  EXPECT_FALSE(fs::exists(path));
}

TEST(FileIdentity, changes_with_the_file) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", "one");
  const auto before = file_identity(path);
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(MappedFile::open(path)->identity(), *before);
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::seconds(1));
  const auto touched = file_identity(path);
  EXPECT_EQ(touched->modified_ns, before->modified_ns - 1'000'000'000);
  EXPECT_EQ(touched->inode, before->inode);
  folder.write("file", "longer");
  EXPECT_EQ(file_identity(path)->bytes, 6u);
  EXPECT_EQ(file_identity(folder.path() / "none").error().code, ErrorCode::kNotFound);
}

TEST(ReleasePages, leaves_the_bytes_as_they_are) {
  const TemporaryFolder folder;
  std::string text(20'000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 / 3);
  const MappedFile file = *MappedFile::open(folder.write("file", text));
  for (const auto& [begin, size] :
       {std::pair(0, 20'000), {1, 19'999}, {5000, 100}, {4096, 4096}, {20'000, 0}}) {
    release_pages(file.bytes().subspan(begin, size));
    EXPECT_TRUE(std::ranges::equal(file.bytes(), view_of(text)));
  }
}

}  // namespace
}  // namespace cascade::testing
