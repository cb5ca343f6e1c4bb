// Runs the fuzzers' seeds in every build: seeds named ok-… are accepted, all others are refused,
// and none does harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "tests/fuzz/targets.h"
#include "tests/places.h"

namespace cascade::fuzz {

// For gtest, which would otherwise put the struct's bytes into the test's name: these bytes differ
// in each process.
void PrintTo(const Target& target, std::ostream* out) {
  *out << target.name;
}

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

bool read_seed(const Target& target, const fs::path& path) {
  const auto file = read_file(path, size_t{1} << 20);
  EXPECT_TRUE(file.ok()) << path;
  if (!file.ok()) return false;
  // The memory has exactly the size of the seed, so that sanitizers see a read beyond its end.
  const std::vector<uint8_t> bytes(file->begin(), file->end());
  return target.read(bytes);
}

class Corpus : public ::testing::TestWithParam<Target> {};

TEST_P(Corpus, seeds_are_taken_or_refused_as_their_names_say) {
  const Target& target = GetParam();
  const fs::path folder = testing::source_dir() / "tests/fuzz/corpus" / target.name;
  int taken = 0, refused = 0;
  for (const fs::path& path : files_in(folder)) {
    const bool wanted = path.filename().string().starts_with("ok-");
    EXPECT_EQ(read_seed(target, path), wanted) << path.filename();
    ++(wanted ? taken : refused);
  }
  EXPECT_GT(taken, 1);
  EXPECT_GT(refused, 1);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, ::testing::ValuesIn(kTargets),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Fuzz, every_message_of_the_vectors_is_read) {
  for (const fs::path& path : files_in(testing::source_dir() / "tests/vectors")) {
    EXPECT_TRUE(read_seed(kTargets[0], path)) << path.filename();
  }
}

}  // namespace
}  // namespace cascade::fuzz
