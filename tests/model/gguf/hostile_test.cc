// GGUF files that break readers: each is refused by name, whatever else is changed in the file.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/random.h"
#include "model/gguf/model.h"
#include "model/gguf/tensor_digest.h"
#include "tests/long_tests.h"
#include "tests/model/gguf/seeds.h"
#include "tests/model/gguf/writer.h"
#include "tests/places.h"
#include "tests/seed.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

fs::path seed_path(const GgufSeed& seed) {
  return source_dir() / "tests/model/data/gguf" / (seed.name + ".gguf");
}

TEST(GgufHostile, every_seed_says_what_is_wrong_with_it) {
  TemporaryFolder folder;
  for (const GgufSeed& seed : gguf_seeds()) {
    SCOPED_TRACE(seed.name);
    const auto model = read_gguf_model(folder.write("seed.gguf", seed.file));
    if (seed.field.empty()) {
      EXPECT_TRUE(model.ok()) << model.error().to_string();
      continue;
    }
    if (model.ok()) {
      // Raw prompts work without a template.
      EXPECT_EQ(seed.field, "tokenizer.chat_template");
      EXPECT_NE(model->text.templates.problems().at(0).find(seed.says), std::string::npos);
      continue;
    }
    EXPECT_EQ(model.error().field, seed.field) << model.error().to_string();
    EXPECT_NE(model.error().message.find(seed.says), std::string::npos)
        << model.error().to_string();
    EXPECT_NE(model.error().message.find("(in seed.gguf)"), std::string::npos);
  }
}

// $CASCADE_WRITE_SEEDS=1 writes the seeds anew.
TEST(GgufHostile, the_committed_seeds_are_those_of_the_code) {
  for (const GgufSeed& seed : gguf_seeds()) {
    if (std::getenv("CASCADE_WRITE_SEEDS") != nullptr) {
      fs::create_directories(seed_path(seed).parent_path());
      std::ofstream(seed_path(seed), std::ios::binary) << seed.file;
    }
    std::ifstream in(seed_path(seed), std::ios::binary);
    ASSERT_TRUE(in.good()) << seed_path(seed);
    const std::string committed((std::istreambuf_iterator<char>(in)), {});
    EXPECT_TRUE(committed == seed.file) << seed.name;
  }
}

// Reads everything that can be read, so that sanitizers see what goes wrong.
void read_everything(const fs::path& path, std::string_view file) {
  const auto header = parse_gguf_header(bytes_of(file));
  if (header.ok()) {
    for (const GgufTensor& tensor : header->tensors) {
      ASSERT_LE(tensor.end, file.size());
      ASSERT_LT(tensor.begin, tensor.end);
      (void)digest_of_values(tensor,
                             bytes_of(file).subspan(tensor.begin, tensor.end - tensor.begin));
    }
  }
  const auto model = read_gguf_model(path);
  EXPECT_TRUE(header.ok() || !model.ok());
  if (model.ok()) return;
  EXPECT_NE(model.error().code, ErrorCode::kInternal);
  EXPECT_FALSE(model.error().field.empty()) << model.error().to_string();
  EXPECT_FALSE(model.error().message.empty());
}

// Writes a number that could break length fields, or any byte, at a random place; or cuts the file
// there, removes a few bytes or inserts some.
void damage(Random& random, std::string& file) {
  constexpr uint64_t kNumbers[] = {0,          1,          7,           31,          255,
                                   0xFFFF,     0x7FFFFFFF, 0x80000000,  0xFFFFFFFF,  1ull << 32,
                                   1ull << 40, 1ull << 61, 1ull << 62,  INT64_MAX,   1ull << 63,
                                   UINT64_MAX, 4,          uint64_t{8}, uint64_t{9}, 12};
  if (file.empty()) return;
  const size_t at = random.below(file.size());
  switch (random.below(5)) {
    case 0: file[at] = static_cast<char>(random.below(256)); break;
    case 1: {
      const uint64_t number = kNumbers[random.below(std::size(kNumbers))];
      const size_t size = std::min<size_t>(random.below(2) == 0 ? 4 : 8, file.size() - at);
      std::memcpy(file.data() + at, &number, size);
      break;
    }
    case 2: file.resize(at); break;
    case 3: file.erase(at, 1 + random.below(16)); break;
    default: file.insert(at, file.substr(random.below(file.size()), random.below(24)));
  }
}

TEST(GgufHostile, mutated_files_are_read_or_refused) {
  Random random(test_seed());
  TemporaryFolder folder;
  const std::vector<GgufSeed> seeds = gguf_seeds();
  const int files = long_or(3'000, 600);
  int read = 0;
  for (int i = 0; i < files; ++i) {
    const GgufSeed& seed =
        seeds[random.below(2) == 0 ? random.below(3) : random.below(seeds.size())];
    std::string file = seed.file;
    for (uint64_t count = 1 + random.below(4); count > 0; --count) damage(random, file);
    SCOPED_TRACE(seed.name + ", file " + std::to_string(i));
    read_everything(folder.write("mutated.gguf", file), file);
    if (HasFatalFailure()) return;
    read += parse_gguf_header(bytes_of(file)).ok() ? 1 : 0;
  }
  EXPECT_GT(read, files / 20) << "the mutations hardly ever get behind the header";
}

TEST(GgufHostile, a_file_cut_anywhere_is_refused) {
  const std::string whole = gguf_seeds().front().file;
  for (size_t size = 0; size < whole.size(); size += size < 4096 ? 1 : 61) {
    const auto header = parse_gguf_header(bytes_of(whole).first(size));
    ASSERT_FALSE(header.ok()) << size;
    ASSERT_NE(header.error().message.find("the file is cut off"), std::string::npos)
        << size << ": " << header.error().to_string();
  }
}

}  // namespace
}  // namespace cascade::testing
