// Packed weights on disk: found again bit for bit, and never an obstacle to a start.
#include "model/packed_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/failing_file_calls.h"
#include "tests/long_tests.h"
#include "tests/model/packed_cache_testing.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const LoadedWeights& reference(WeightType type = WeightType::kInt8) {
  static std::map<WeightType, LoadedWeights> loaded;
  const auto found = loaded.find(type);
  if (found != loaded.end()) return found->second;
  return loaded.emplace(type, load_packed(demo_model_dir(), {}, type)).first->second;
}

LoadedWeights load_demo(const fs::path& state_dir, WeightType type = WeightType::kInt8) {
  return load_packed(demo_model_dir(), state_dir, type);
}

void flip(const fs::path& path, uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
  ASSERT_TRUE(file.good());
}

// The only file of packed weights.
fs::path packed_file(const fs::path& state_dir) {
  const auto files = cache_files(state_dir, ".packed");
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? fs::path() : files.front();
}

// Expects that the existing file is not used, that one warning says so, and that it is replaced.
void expect_repacked(const fs::path& model_dir, const LoadedWeights& expected,
                     const fs::path& state_dir, const std::string& what) {
  const LoadedWeights repacked = load_packed(model_dir, state_dir);
  EXPECT_FALSE(repacked.report.from_cache) << what;
  EXPECT_TRUE(repacked.same_as(expected)) << what;
  EXPECT_EQ(repacked.report.warnings.size(), 1u) << what << repacked.warnings();
  EXPECT_THAT(repacked.warnings(), HasSubstr(".packed: ")) << what;
  const LoadedWeights again = load_packed(model_dir, state_dir);
  EXPECT_TRUE(again.report.from_cache) << what << again.warnings();
  EXPECT_TRUE(again.same_as(expected)) << what;
}

void expect_repacked(const fs::path& state_dir, const std::string& what) {
  expect_repacked(demo_model_dir(), reference(), state_dir, what);
}

// A model for tests in which the size of the model does not matter: the demo model in long tests,
// by default a tiny one.
class AnyModel {
 public:
  fs::path path() const { return long_tests() ? demo_model_dir() : tiny_.path(); }

 private:
  const TinyModel tiny_;
};

TEST(PackedCache, gives_the_same_bytes_and_digest_at_the_second_start) {
  for (const WeightType type : kWeightTypes) {
    const TemporaryFolder state;
    const LoadedWeights first = load_demo(state.path(), type);
    EXPECT_FALSE(first.report.from_cache);
    EXPECT_TRUE(first.report.hashed);
    EXPECT_TRUE(first.same_as(reference(type)));
    const LoadedWeights second = load_demo(state.path(), type);
    EXPECT_TRUE(second.report.from_cache);
    EXPECT_FALSE(second.report.hashed);
    EXPECT_TRUE(second.same_as(reference(type)));
    EXPECT_EQ(first.warnings() + second.warnings(), "");
    ASSERT_EQ(second.weights.layers.size(), first.weights.layers.size());
    const auto offset = [](const LoadedWeights& w) {
      return w.weights.layers.back().down.matrices.front().data - w.weights.memory.data();
    };
    EXPECT_EQ(offset(first), offset(second));
  }
}

TEST(PackedCache, keeps_the_types_of_one_model_beside_each_other) {
  const TemporaryFolder state;
  const TemporaryFolder other_state;
  load_demo(state.path(), WeightType::kInt8);
  const LoadedWeights other = load_demo(state.path(), WeightType::kInt4);
  EXPECT_FALSE(other.report.from_cache);
  EXPECT_FALSE(other.report.hashed) << "the digest is that of the tensors";
  EXPECT_TRUE(other.same_as(reference(WeightType::kInt4)));
  EXPECT_TRUE(load_demo(state.path(), WeightType::kInt8).report.from_cache);
  EXPECT_TRUE(load_demo(state.path(), WeightType::kInt4).report.from_cache);
  EXPECT_EQ(cache_files(state.path(), ".packed").size(), 2u);
  EXPECT_EQ(cache_files(state.path(), "").size(), 3u) << "and one stamp";
}

TEST(PackedCache, is_private) {
  const TemporaryFolder state;
  load_demo(state.path() / "a" / "b");
  struct stat info = {};
  for (const fs::path& path : {state.path() / "a", state.path() / "a/b/weights"}) {
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u) << path;
  }
  for (const fs::path& path : cache_files(state.path() / "a/b", "")) {
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << path;
  }
}

TEST(PackedCache, repacks_what_has_a_damaged_header) {
  const AnyModel model;
  const TemporaryFolder state;
  const LoadedWeights expected = load_packed(model.path(), {});
  load_packed(model.path(), state.path());
  const size_t table_bytes = (expected.bytes().size() / kPackedPieceBytes + 1) * 8;
  for (const size_t offset :
       {size_t{0}, size_t{8}, size_t{12}, size_t{16}, size_t{48}, size_t{80}, size_t{88},
        size_t{96}, size_t{104}, size_t{112}, size_t{200}, kPackedHeaderBytes - 1,
        kPackedHeaderBytes, kPackedHeaderBytes + table_bytes - 1}) {
    flip(packed_file(state.path()), offset);
    expect_repacked(model.path(), expected, state.path(), "byte " + std::to_string(offset) + "\n");
  }
}

TEST(PackedCache, repacks_what_has_a_flipped_bit_in_any_piece) {
  const TemporaryFolder state;
  load_demo(state.path());
  const uint64_t size = fs::file_size(packed_file(state.path()));
  int pieces = 0;
  for (uint64_t at = kPackedBodyAlignment; at < size; at += kPackedPieceBytes, ++pieces) {
    flip(packed_file(state.path()), at);
    expect_repacked(state.path(), "byte " + std::to_string(at) + "\n");
  }
  EXPECT_GE(pieces, 3);
  flip(packed_file(state.path()), size - 1);
  expect_repacked(state.path(), "the last byte\n");
}

TEST(PackedCache, repacks_what_is_too_short_or_too_long) {
  const AnyModel model;
  const TemporaryFolder state;
  const LoadedWeights expected = load_packed(model.path(), {});
  load_packed(model.path(), state.path());
  const uint64_t size = fs::file_size(packed_file(state.path()));
  for (const uint64_t wrong :
       {uint64_t{0}, uint64_t{1}, uint64_t{kPackedHeaderBytes - 1}, uint64_t{kPackedHeaderBytes},
        uint64_t{kPackedHeaderBytes + 8}, kPackedBodyAlignment - 1, kPackedBodyAlignment,
        kPackedBodyAlignment + 1, size - 1, size + 1}) {
    fs::resize_file(packed_file(state.path()), wrong);
    expect_repacked(model.path(), expected, state.path(), std::to_string(wrong) + " bytes\n");
  }
}

TEST(PackedCache, repacks_what_was_written_for_other_weights) {
  const TemporaryFolder state;
  load_demo(state.path(), WeightType::kInt4);
  const fs::path other = packed_file(state.path());
  load_demo(state.path(), WeightType::kInt8);
  for (const fs::path& file : cache_files(state.path(), ".packed")) {
    if (file == other) continue;
    fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  }
  expect_repacked(state.path(), "int4 as int8\n");
}

TEST(PackedCache, is_not_stopped_by_what_is_no_file) {
  const TemporaryFolder state;
  load_demo(state.path());
  const fs::path path = packed_file(state.path());
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_repacked(state.path(), "a FIFO\n");
  fs::remove(path);
  fs::create_directories(path / "full");
  const LoadedWeights repacked = load_demo(state.path());
  EXPECT_TRUE(repacked.same_as(reference()));
  EXPECT_THAT(repacked.warnings(), HasSubstr("is not a regular file"));
  EXPECT_THAT(repacked.warnings(), HasSubstr(".packed.aside now"));
  EXPECT_TRUE(fs::is_directory(path.string() + ".aside/full"));
  EXPECT_TRUE(load_demo(state.path()).report.from_cache);
}

TEST(PackedCache, follows_no_link_to_another_file) {
  const TemporaryFolder state;
  load_demo(state.path());
  const fs::path path = packed_file(state.path());
  const fs::path elsewhere = state.path() / "elsewhere";
  fs::rename(path, elsewhere);
  const auto written = fs::last_write_time(elsewhere);
  for (const fs::path& target : {elsewhere, fs::path("nowhere"), path.filename()}) {
    fs::remove(path);
    fs::create_symlink(target, path);
    expect_repacked(state.path(), "a link to " + target.string() + "\n");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path)));
  }
  EXPECT_EQ(fs::last_write_time(elsewhere), written);
}

TEST(PackedCache, is_kept_though_its_stamp_or_its_folder_is_something_else) {
  const TemporaryFolder state;
  load_demo(state.path());
  const fs::path stamp = cache_files(state.path(), ".stamp").at(0);
  fs::remove(stamp);
  fs::create_directories(stamp / "full");
  EXPECT_THAT(load_demo(state.path()).warnings(), HasSubstr(".stamp.aside now"));
  EXPECT_FALSE(load_demo(state.path()).report.hashed) << "the stamp is there";
  const fs::path weights = state.path() / "weights";
  const auto put = [&](const std::function<void()>& make) {
    fs::remove_all(weights);
    fs::remove_all(weights.string() + ".aside");
    make();
    const LoadedWeights loaded = load_demo(state.path());
    EXPECT_TRUE(loaded.same_as(reference()));
    EXPECT_THAT(loaded.warnings(), HasSubstr("weights.aside now"));
    EXPECT_NE(fs::symlink_status(weights.string() + ".aside").type(), fs::file_type::not_found);
    const LoadedWeights again = load_demo(state.path());
    EXPECT_TRUE(again.report.from_cache);
    EXPECT_EQ(again.warnings(), "");
  };
  put([&] { state.write("weights", "no folder"); });
  put([&] { fs::create_symlink("nowhere", weights); });
  put([&] { fs::create_symlink("weights", weights); });
  put([&] { ASSERT_EQ(::mkfifo(weights.c_str(), 0600), 0); });
}

TEST(PackedCache, is_not_used_where_others_may_write_or_nothing_can_be) {
  const TemporaryFolder state;
  fs::create_directories(state.path() / "weights");
  fs::permissions(state.path() / "weights", fs::perms::all);
  const fs::path file = state.write("file", "");
  for (const auto& [path, reason] :
       {std::pair(state.path(), "is writable by others"), std::pair(file, "Not a directory"),
        std::pair(file / "below", "Not a directory")}) {
    const LoadedWeights loaded = load_demo(path);
    EXPECT_TRUE(loaded.same_as(reference()));
    EXPECT_EQ(loaded.report.warnings.size(), 1u) << loaded.warnings();
    EXPECT_THAT(loaded.warnings(), HasSubstr(reason));
  }
  EXPECT_EQ(cache_files(state.path(), "").size(), 0u);
}

TEST(PackedCache, of_a_full_disk_warns_once_and_leaves_no_part_of_a_file) {
  const TemporaryFolder state;
  class FullDisk : public FileCalls {
   public:
    ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset) override {
      if (offset < 10'000'000) return FileCalls::write(fd, from, bytes, offset);
      errno = ENOSPC;
      return -1;
    }
  } calls;
  const LoadedWeights loaded =
      load_packed(demo_model_dir(), state.path(), WeightType::kInt8, calls);
  EXPECT_TRUE(loaded.same_as(reference()));
  EXPECT_EQ(loaded.report.warnings.size(), 1u) << loaded.warnings();
  EXPECT_THAT(loaded.warnings(), HasSubstr("No space left on device"));
  EXPECT_EQ(cache_files(state.path(), "").size(), cache_files(state.path(), ".stamp").size());
}

TEST(PackedCache, writes_nothing_to_a_disk_without_room) {
  const TemporaryFolder state;
  class SmallDisk : public FileCalls {
   public:
    int free_bytes(const std::string&, uint64_t& bytes) override {
      bytes = 10'000'000;
      return 0;
    }
  } calls;
  const LoadedWeights loaded =
      load_packed(demo_model_dir(), state.path(), WeightType::kInt8, calls);
  EXPECT_TRUE(loaded.same_as(reference()));
  EXPECT_EQ(loaded.weights.keeper, nullptr);
  EXPECT_THAT(loaded.warnings(), HasSubstr("bytes, only for 10000000"));
  EXPECT_EQ(cache_files(state.path(), ".packed").size(), 0u);
}

// Lets every call of a start fail, once or from then on: without packed weights, with them, and
// with damaged ones.
TEST(PackedCache, gives_the_same_weights_whatever_call_fails) {
  enum class Before { kNothing, kPacked, kDamaged };
  const TinyModel model;
  const LoadedWeights expected = load_packed(model.path(), {});
  for (const Before before : {Before::kNothing, Before::kPacked, Before::kDamaged}) {
    for (const bool all_later : {false, true}) {
      bool all_calls_seen = false;
      const TemporaryFolder state;
      for (int n = 1; !all_calls_seen; ++n) {
        if (before == Before::kNothing) fs::remove_all(state.path() / "weights");
        if (before != Before::kNothing) load_packed(model.path(), state.path());
        if (before == Before::kDamaged) flip(packed_file(state.path()), kPackedBodyAlignment);
        FailingFileCalls calls(n, all_later);
        const LoadedWeights loaded =
            load_packed(model.path(), state.path(), WeightType::kInt8, calls);
        all_calls_seen = !calls.failed();
        EXPECT_TRUE(loaded.same_as(expected)) << n;
        EXPECT_LE(loaded.report.warnings.size(), 2u) << n << loaded.warnings();
        const LoadedWeights after = load_packed(model.path(), state.path());
        EXPECT_TRUE(after.same_as(expected)) << n << after.warnings();
        EXPECT_EQ(cache_files(state.path(), ".tmp").size(), 0u) << n;
      }
    }
  }
}

// Kills the start while it writes the first piece, in the middle, at the header, and before the
// rename.
TEST(PackedCache, of_a_start_that_was_killed_is_made_anew) {
  class Killing : public FileCalls {
   public:
    explicit Killing(int write) : write_(write) {}
    ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset) override {
      if (bytes < kPackedHeaderBytes) return FileCalls::write(fd, from, bytes, offset);  // a stamp
      const bool header = write_ == -1 && offset == 0;
      if (++writes_ != write_ && !header) return FileCalls::write(fd, from, bytes, offset);
      (void)FileCalls::write(fd, from, bytes / 2, offset);
      return std::raise(SIGKILL);
    }
    int rename(const std::string& from, const std::string& to) override {
      return to.ends_with(".packed") ? std::raise(SIGKILL) : FileCalls::rename(from, to);
    }

   private:
    int write_;  // number of the write that kills; -1: the header's write; 0: none
    int writes_ = 0;
  };
  const LoadedWeights& expected = reference();
  for (const int write : {1, 3, -1, 0}) {
    SCOPED_TRACE(write);
    const TemporaryFolder state;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {  // without the threads of the parent process
      Killing calls(write);
      ThreadPool pool(1);
      LoadReport report;
      const auto files = TensorFiles::open(demo_model_dir());
      const auto text = read_file(demo_model_dir() / "config.json", 1 << 20);
      const auto config = parse_model_config(*parse_json(*text, "config.json"));
      PackedCache cache(state.path(), calls);
      (void)load_weights(*files, *config, WeightType::kInt8, **kernels_for(Isa::kScalar), pool,
                         cache, report);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    EXPECT_EQ(cache_files(state.path(), ".packed").size(), 0u);
    ASSERT_EQ(cache_files(state.path(), ".tmp").size(), 1u);
    EXPECT_GT(fs::file_size(cache_files(state.path(), ".tmp")[0]), kPackedBodyAlignment);
    const LoadedWeights after = load_demo(state.path());
    EXPECT_FALSE(after.report.from_cache);
    EXPECT_TRUE(after.same_as(expected)) << after.warnings();
    EXPECT_EQ(cache_files(state.path(), ".tmp").size(), 0u);
    EXPECT_TRUE(load_demo(state.path()).report.from_cache);
  }
}

TEST(PackedCache, is_shared_by_starts_at_the_same_time) {
  const TemporaryFolder state;
  std::vector<LoadedWeights> loaded(3);
  std::vector<std::thread> starts;
  for (LoadedWeights& one : loaded) {
    starts.emplace_back([&] {
      ThreadPool pool(1);
      const auto model = demo_model_dir();
      const auto files = TensorFiles::open(model);
      const auto text = read_file(model / "config.json", 1 << 20);
      const auto config = parse_model_config(*parse_json(*text, "config.json"));
      PackedCache cache(state.path());
      auto weights = load_weights(*files, *config, WeightType::kInt8, **kernels_for(Isa::kScalar),
                                  pool, cache, one.report);
      ASSERT_TRUE(weights.ok());
      one.weights = std::move(weights).value();
      if (one.weights.keeper != nullptr) one.weights.keeper->wait();
    });
  }
  for (std::thread& start : starts) start.join();
  for (const LoadedWeights& one : loaded) {
    EXPECT_TRUE(one.same_as(reference()));
    EXPECT_EQ(one.warnings(), "");
  }
  EXPECT_EQ(cache_files(state.path(), ".tmp").size(), 0u);
  EXPECT_TRUE(load_demo(state.path()).report.from_cache);
}

}  // namespace
}  // namespace cascade::testing
