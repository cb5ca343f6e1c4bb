// Packed weights correspond to the model's current files, and old ones do not pile up.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tests/model/packed_cache_testing.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Changes one weight; the size of the file stays.
void change_weight(const fs::path& shard) {
  std::string bytes = *read_file(shard, size_t{1} << 30);
  bytes[bytes.size() - 2] ^= 1;
  std::fstream file(shard, std::ios::binary | std::ios::in | std::ios::out);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  ASSERT_TRUE(file.good());
}

TEST(PackedCacheSource, notices_a_changed_file_and_deletes_what_was_packed_of_the_old_one) {
  const TemporaryFolder state;
  const ModelCopy copy;
  const LoadedWeights other_model = load_packed(demo_model_dir(), state.path(), WeightType::kInt4);
  const LoadedWeights before = load_packed(copy.path(), state.path());
  EXPECT_EQ(before.weights.digest, other_model.weights.digest) << "the same tensors";
  const auto modified = fs::last_write_time(copy.shard());
  change_weight(copy.shard());
  fs::last_write_time(copy.shard(), modified);
  const LoadedWeights after = load_packed(copy.path(), state.path());
  EXPECT_FALSE(after.report.from_cache);
  EXPECT_TRUE(after.report.hashed);
  EXPECT_NE(after.weights.digest, before.weights.digest);
  EXPECT_TRUE(after.same_as(load_packed(copy.path(), {})));
  EXPECT_EQ(after.warnings(), "");
  // The packed weights of the demo model are still needed by the demo model's own folder.
  EXPECT_TRUE(load_packed(demo_model_dir(), state.path()).report.from_cache);
  EXPECT_EQ(cache_files(state.path(), ".packed").size(), 3u);

  const TemporaryFolder alone;
  load_packed(copy.path(), alone.path());
  load_packed(copy.path(), alone.path(), WeightType::kInt4);
  change_weight(copy.shard());
  load_packed(copy.path(), alone.path());
  EXPECT_EQ(cache_files(alone.path(), ".packed").size(), 1u);
  EXPECT_EQ(cache_files(alone.path(), ".stamp").size(), 1u);
  EXPECT_TRUE(load_packed(copy.path(), alone.path()).report.from_cache);
}

TEST(PackedCacheSource, finds_packed_weights_of_files_that_were_only_touched) {
  const TemporaryFolder state;
  const ModelCopy copy;
  load_packed(copy.path(), state.path());
  fs::last_write_time(copy.shard(), fs::last_write_time(copy.shard()) - std::chrono::hours(1));
  const LoadedWeights touched = load_packed(copy.path(), state.path());
  EXPECT_TRUE(touched.report.from_cache);
  EXPECT_TRUE(touched.report.hashed);
  EXPECT_FALSE(load_packed(copy.path(), state.path()).report.hashed) << "known again";
}

TEST(PackedCacheSource, is_told_of_in_bytes) {
  const TemporaryFolder state;
  const ModelCopy copy;
  const auto expect = [](const LoadedWeights& loaded, int64_t bytes) {
    EXPECT_EQ(loaded.total_bytes, bytes);
    EXPECT_EQ(loaded.done_bytes, bytes);
  };
  const int64_t tensors = TensorFiles::open(copy.path())->bytes_total();
  // Without a cache, and with an empty cache, the tensors are read once.
  expect(load_packed(copy.path(), {}), tensors);
  const LoadedWeights first = load_packed(copy.path(), state.path());
  expect(first, tensors);
  // The packed weights are read and checked.
  const auto packed = static_cast<int64_t>(first.bytes().size());
  expect(load_packed(copy.path(), state.path()), packed);
  // The tensors are read as well if their digest is not known.
  fs::last_write_time(copy.shard(), fs::last_write_time(copy.shard()) - std::chrono::hours(1));
  expect(load_packed(copy.path(), state.path()), tensors + packed);
  // The tensors are read twice, because there are other packed weights of the same size.
  change_weight(copy.shard());
  expect(load_packed(copy.path(), state.path()), 2 * tensors);
}

TEST(PackedCacheSource, knows_a_model_by_whatever_path) {
  const TemporaryFolder state;
  const ModelCopy copy;
  load_packed(copy.path(), state.path());
  const fs::path link = state.path() / "link";
  fs::create_directory_symlink(copy.path(), link);
  const LoadedWeights linked = load_packed(link / ".", state.path());
  EXPECT_TRUE(linked.report.from_cache);
  EXPECT_FALSE(linked.report.hashed);
  EXPECT_EQ(cache_files(state.path(), ".stamp").size(), 1u);
}

TEST(PackedCacheSource, trusts_no_times_of_a_file_that_was_just_written) {
  const TemporaryFolder state;
  const ModelCopy copy;
  const int64_t written_us = file_identity(copy.shard())->changed_ns / 1000;
  const auto load_after = [&](int64_t us) {
    return load_packed(copy.path(), state.path(), WeightType::kInt8, system_file_calls(),
                       written_us + us);
  };
  load_after(-1'000'000);  // as if the clock were late
  load_after(500'000);
  EXPECT_EQ(cache_files(state.path(), ".stamp").size(), 0u);
  const LoadedWeights second = load_after(500'000);
  EXPECT_TRUE(second.report.from_cache) << "by the digest";
  EXPECT_TRUE(second.report.hashed);
  load_after(60'000'000);
  EXPECT_FALSE(load_after(60'000'000).report.hashed);
}

TEST(PackedCacheSource, hashes_again_where_a_stamp_is_damaged) {
  const TemporaryFolder state;
  const LoadedWeights first = load_packed(demo_model_dir(), state.path());
  for (const std::string_view content : {"", "{", "{}", "\xFF", "null"}) {
    state.write("weights/" + cache_files(state.path(), ".stamp").front().filename().string(),
                content);
    const LoadedWeights loaded = load_packed(demo_model_dir(), state.path());
    EXPECT_TRUE(loaded.report.hashed);
    EXPECT_TRUE(loaded.report.from_cache);
    EXPECT_TRUE(loaded.same_as(first));
    EXPECT_EQ(loaded.report.warnings.size(), 1u) << loaded.warnings();
    EXPECT_THAT(loaded.warnings(), HasSubstr(".stamp: "));
    EXPECT_FALSE(load_packed(demo_model_dir(), state.path()).report.hashed);
  }
}

TEST(PackedCacheSource, deletes_what_a_crashed_writer_left_but_nothing_else) {
  const TemporaryFolder state;
  fs::create_directories(state.path() / "weights");
  fs::permissions(state.path() / "weights", fs::perms::owner_all);
  const std::string key(64, 'a');
  const std::string abandoned = "weights/new_" + std::string(32, '1') + ".tmp";
  const std::string written = "weights/new_" + std::string(32, '2') + ".tmp";
  state.write(abandoned, "half");
  state.write(written, "half");
  state.write("weights/" + key + ".packed", "no packed weights");
  state.write("weights/notes.packed", "somebody's");
  FileCalls& calls = system_file_calls();
  const OwnedFd writer(calls, calls.open((state.path() / written).string(), O_WRONLY));
  ASSERT_EQ(calls.lock(writer.fd()), 0);
  load_packed(demo_model_dir(), state.path());
  EXPECT_FALSE(fs::exists(state.path() / abandoned));
  EXPECT_TRUE(fs::exists(state.path() / written));
  EXPECT_TRUE(fs::exists(state.path() / ("weights/" + key + ".packed")));
  EXPECT_TRUE(fs::exists(state.path() / "weights/notes.packed"));
}

// The file is as a program would leave it if that program packed the same weights into other bytes.
TEST(PackedCacheSource, deletes_what_was_packed_by_other_rules) {
  const TemporaryFolder state;
  load_packed(demo_model_dir(), state.path());
  const fs::path packed = cache_files(state.path(), ".packed").front();
  std::string bytes = *read_file(packed, size_t{1} << 30);
  const uint32_t version = kPackingVersion + 1;
  std::memcpy(bytes.data() + 12, &version, sizeof version);
  const size_t at = kPackedHeaderBytes - sizeof(uint64_t);
  const uint64_t checksum = packed_checksum({reinterpret_cast<const uint8_t*>(bytes.data()), at});
  std::memcpy(bytes.data() + at, &checksum, sizeof checksum);
  const std::string name = "weights/" + std::string(64, 'b') + ".packed";
  state.write(name, bytes);
  load_packed(demo_model_dir(), state.path());
  EXPECT_TRUE(fs::exists(state.path() / name)) << "a start from the cache deletes nothing";
  load_packed(demo_model_dir(), state.path(), WeightType::kInt4);
  EXPECT_FALSE(fs::exists(state.path() / name));
  EXPECT_TRUE(fs::exists(packed));
}

}  // namespace
}  // namespace cascade::testing
