// Tests of reading and mapping files, and of everything that is not a readable regular file.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using namespace std::string_literals;

std::string text_of(const MappedFile& file) {
  return {file.bytes().begin(), file.bytes().end()};
}

// Both ways of reading must fail alike.
void expect_unreadable(const std::filesystem::path& path, ErrorCode code) {
  const auto content = read_file(path, 1024);
  ASSERT_FALSE(content.ok()) << path;
  EXPECT_EQ(content.error().code, code) << content.error().to_string();
  EXPECT_EQ(content.error().field, path.string());
  const auto mapped = MappedFile::open(path);
  ASSERT_FALSE(mapped.ok()) << path;
  EXPECT_EQ(mapped.error().code, code) << mapped.error().to_string();
  EXPECT_EQ(mapped.error().field, path.string());
}

TEST(File, reads_and_maps_all_bytes) {
  const testing::TemporaryFolder folder;
  const std::string content = "a\0b\xFF\n"s;
  const auto path = folder.write("file", content);
  EXPECT_EQ(*read_file(path, 1024), content);
  EXPECT_EQ(text_of(*MappedFile::open(path)), content);
}

TEST(File, reads_up_to_the_limit_and_refuses_one_byte_more) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("file", std::string(100, 'x'));
  EXPECT_EQ(read_file(path, 100)->size(), 100u);
  const auto too_large = read_file(path, 99);
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(too_large.error().message.find("99 bytes"), std::string::npos);
}

TEST(File, reads_files_of_the_kernel_which_tell_no_size) {
  const auto status = read_file("/proc/self/status", 1 << 20);
  ASSERT_TRUE(status.ok());
  EXPECT_NE(status->find("\nPid:\t" + std::to_string(::getpid()) + "\n"), std::string::npos);
  EXPECT_EQ(read_file("/proc/self/status", 10).error().code, ErrorCode::kInvalidArgument);
}

TEST(File, empty_files_are_files) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("empty", "");
  EXPECT_EQ(*read_file(path, 0), "");
  const auto mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped.ok());
  EXPECT_TRUE(mapped->bytes().empty());
}

TEST(File, refuses_what_is_not_a_regular_file_without_waiting) {
  const testing::TemporaryFolder folder;
  expect_unreadable(folder.path(), ErrorCode::kInvalidArgument);
  expect_unreadable("/dev/null", ErrorCode::kInvalidArgument);
  const auto fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_unreadable(fifo, ErrorCode::kInvalidArgument);
}

TEST(File, tells_missing_files_from_unreadable_ones) {
  const testing::TemporaryFolder folder;
  expect_unreadable(folder.path() / "absent", ErrorCode::kNotFound);
  expect_unreadable("", ErrorCode::kNotFound);
  const auto dangling = folder.path() / "dangling";
  std::filesystem::create_symlink("nowhere", dangling);
  expect_unreadable(dangling, ErrorCode::kNotFound);
  const auto loop = folder.path() / "loop";
  std::filesystem::create_symlink("loop", loop);
  expect_unreadable(loop, ErrorCode::kIo);
  const auto file = folder.write("file", "x");
  expect_unreadable(file / "below", ErrorCode::kIo);
}

TEST(File, follows_links_to_regular_files) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("file", "linked");
  std::filesystem::create_symlink(path, folder.path() / "link");
  EXPECT_EQ(*read_file(folder.path() / "link", 100), "linked");
}

TEST(MappedFile, is_unmapped_by_its_destructor) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("file", "mapped");
  const auto is_mapped = [&] {
    std::ifstream maps("/proc/self/maps");
    const std::string text((std::istreambuf_iterator<char>(maps)), {});
    return text.find(path.string()) != std::string::npos;
  };
  {
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(is_mapped());
  }
  EXPECT_FALSE(is_mapped());
}

TEST(MappedFile, keeps_its_bytes_when_moved_and_outlives_the_name) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("file", "first");
  MappedFile file = *MappedFile::open(path);
  const uint8_t* where = file.bytes().data();
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes().data(), where);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(moved), "first");
  MappedFile other = *MappedFile::open(folder.write("other", "second"));
  moved = std::move(other);
  EXPECT_EQ(text_of(moved), "second");
}

}  // namespace
}  // namespace cascade
