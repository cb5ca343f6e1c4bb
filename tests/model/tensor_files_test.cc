// Tests of a model folder's tensors: one file or shards, and indexes that state something false.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "model/safetensors.h"
#include "tests/long_tests.h"
#include "tests/model/safetensors_file.h"
#include "tests/seed.h"
#include "tests/shared_dir.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using namespace std::string_literals;
using testing::safetensors;
using testing::small_data;
using testing::small_table;
using testing::TemporaryFolder;
using testing::tensor_json;

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";

using Shape = std::vector<int64_t>;

std::string file_with(const char* name, const char* type = "U8", std::string_view data = "x") {
  const Json table = {{name, tensor_json(type, {data.size()}, 0, data.size())}};
  return safetensors(table.dump(), data);
}

// "a" in the first of two shards, "b" in the second.
void write_shards(const TemporaryFolder& folder) {
  folder.write(kFirst, file_with("a", "U8", "AA"));
  folder.write(kSecond, file_with("b", "U8", "BBB"));
}

void write_index(const TemporaryFolder& folder, const Json& weight_map) {
  const Json index = {{"metadata", {{"total_size", 5}}}, {"weight_map", weight_map}};
  folder.write(kIndex, index.dump());
}

Json good_map() {
  return {{"a", kFirst}, {"b", kSecond}};
}

void expect_open_error(const TemporaryFolder& folder, ErrorCode code, std::string_view field,
                       std::string_view message = "") {
  const auto files = TensorFiles::open(folder.path());
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code, code) << files.error().to_string();
  EXPECT_EQ(files.error().field, field) << files.error().to_string();
  EXPECT_NE(files.error().message.find(message), std::string::npos) << files.error().to_string();
}

void expect_corrupt_files(const TemporaryFolder& folder, std::string_view field,
                          std::string_view message = "") {
  expect_open_error(folder, ErrorCode::kDataCorrupt, field, message);
}

template <class T>
void expect_find_error(const Result<T>& found, std::string_view text) {
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().to_string(), text);
}

TEST(TensorFiles, finds_tensors_of_one_file) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", safetensors(small_table().dump(), small_data()));
  const auto files = TensorFiles::open(folder.path());
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(files->bytes_total(), 32u);
  EXPECT_TRUE(files->contains("a"));
  EXPECT_FALSE(files->contains("__metadata__"));
  const auto a = files->find("a", Shape{2, 3});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a->type, TensorType::kF32);
  EXPECT_EQ(a->shape, (Shape{2, 3}));
  ASSERT_EQ(a->bytes.size(), 24u);
  EXPECT_EQ(a->bytes[0], 0);
  EXPECT_EQ(a->bytes[23], 23);
  const auto b = files->find("b", Shape{4});
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->type, TensorType::kBf16);
  ASSERT_EQ(b->bytes.size(), 8u);
  EXPECT_EQ(b->bytes[0], 24);
  EXPECT_EQ(files->find("empty", Shape{0, 7})->bytes.size(), 0u);
}

TEST(TensorFiles, says_what_is_wrong_with_a_tensor) {
  const TemporaryFolder folder;
  Json table = small_table();
  table["b"] = tensor_json("I64", {1}, 24, 32);
  folder.write("model.safetensors", safetensors(table.dump(), small_data()));
  const auto files = TensorFiles::open(folder.path());
  ASSERT_TRUE(files.ok());
  expect_find_error(files->find("c", Shape{1}), "not_found: c: is not in the model's files");
  expect_find_error(files->find("a", Shape{3, 2}),
                    "invalid_argument: a: has shape [2, 3], expected [3, 2]");
  expect_find_error(files->find("a", Shape{}),
                    "invalid_argument: a: has shape [2, 3], expected []");
  expect_find_error(files->find("a", Shape{2, 3, 1}),
                    "invalid_argument: a: has shape [2, 3], expected [2, 3, 1]");
  expect_find_error(files->find("b", Shape{1}),
                    "unsupported: b: has type I64 (supported: F32, F16, BF16)");
}

TEST(TensorFiles, names_and_sizes_of_types) {
  EXPECT_EQ(to_string(TensorType::kF32), "F32");
  EXPECT_EQ(to_string(TensorType::kF16), "F16");
  EXPECT_EQ(to_string(TensorType::kBf16), "BF16");
  EXPECT_EQ(bytes_of_values(TensorType::kF32, 3), 3u * 4u);
  EXPECT_EQ(bytes_of_values(TensorType::kF16, 3), 3u * 2u);
  EXPECT_EQ(bytes_of_values(TensorType::kBf16, 3), 3u * 2u);
}

// The rows of a tensor in the file, in the order of the matrix.
std::vector<size_t> rows_in_file(size_t rows, int head_rows, int run) {
  Tensor tensor;
  tensor.interleaved_head_rows = head_rows;
  tensor.interleaved_run = run;
  std::vector<size_t> found;
  for (size_t row = 0; row < rows; ++row) found.push_back(tensor.file_row(row));
  return found;
}

TEST(TensorFiles, rows_of_a_tensor_may_be_interleaved_in_runs) {
  using Rows = std::vector<size_t>;
  EXPECT_EQ(rows_in_file(5, 0, 1), (Rows{0, 1, 2, 3, 4}));
  // Two heads of six rows, whose halves take turns row by row.
  EXPECT_EQ(rows_in_file(12, 6, 1), (Rows{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}));
  // The same in runs of two and of three.
  EXPECT_EQ(rows_in_file(8, 8, 2), (Rows{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(rows_in_file(16, 8, 2), (Rows{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  EXPECT_EQ(rows_in_file(12, 12, 3), (Rows{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  // One run is a half: all is in order.
  EXPECT_EQ(rows_in_file(6, 6, 3), (Rows{0, 1, 2, 3, 4, 5}));
  // Every row is in the file once.
  for (const int run : {1, 2, 4, 8, 16}) {
    Rows rows = rows_in_file(64, 32, run);
    std::ranges::sort(rows);
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], i) << "run " << run;
  }
}

TEST(TensorFiles, stays_valid_when_moved_and_when_the_files_are_gone) {
  auto folder = std::make_unique<TemporaryFolder>();
  folder->write("model.safetensors", safetensors(small_table().dump(), small_data()));
  TensorFiles files = *TensorFiles::open(folder->path());
  const Tensor a = *files.find("a", Shape{2, 3});
  folder.reset();
  const TensorFiles moved = std::move(files);
  EXPECT_EQ(moved.find("a", Shape{2, 3})->bytes.data(), a.bytes.data());
  EXPECT_EQ(a.bytes[23], 23);
}

TEST(TensorFiles, opens_the_demo_model_of_three_shards) {
  const auto files = TensorFiles::open(testing::demo_model_dir());
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(files->bytes_total(), 31'472'384u) << "total_size of its index";
  EXPECT_TRUE(files->find("model.embed_tokens.weight", Shape{8192, 384}).ok());
  EXPECT_TRUE(files->find("model.layers.7.self_attn.k_proj.weight", Shape{128, 384}).ok());
  EXPECT_TRUE(files->find("model.norm.weight", Shape{384}).ok());
  EXPECT_FALSE(files->contains("lm_head.weight"));
}

TEST(TensorFiles, opens_the_fixtures) {
  for (const char* name : {"llama-mha", "llama3-rope", "mistral-swa", "qwen2-bias", "qwen3-gqa"}) {
    const auto files = TensorFiles::open(testing::fixtures_dir() / name);
    ASSERT_TRUE(files.ok()) << name << files.error().to_string();
    EXPECT_TRUE(files->find("model.embed_tokens.weight", Shape{2048, 64}).ok());
    EXPECT_TRUE(files->find("model.layers.2.mlp.down_proj.weight", Shape{64, 160}).ok());
  }
}

TEST(TensorFiles, joins_shards) {
  const TemporaryFolder folder;
  write_shards(folder);
  write_index(folder, good_map());
  const auto files = TensorFiles::open(folder.path());
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(files->bytes_total(), 5u);
  EXPECT_TRUE(files->contains("a"));
  EXPECT_TRUE(files->contains("b"));
}

TEST(TensorFiles, shard_offsets_count_from_their_own_file_even_if_its_last_tensor_is_left_out) {
  const TemporaryFolder folder;
  const Json table = {{"a", tensor_json("F16", {1}, 0, 2)}, {"z", tensor_json("F16", {2}, 2, 6)}};
  folder.write(kFirst, safetensors(table.dump(), "AAzzzz"));
  write_index(folder, {{"a", kFirst}});
  const auto files = TensorFiles::open(folder.path());
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(files->find("a", Shape{1})->bytes[1], 'A');
  EXPECT_FALSE(files->contains("z")) << "the index does not name it";
  EXPECT_EQ(files->bytes_total(), 2u);
}

TEST(TensorFiles, prefers_the_single_file_to_the_index) {
  const TemporaryFolder folder;
  write_shards(folder);
  write_index(folder, good_map());
  folder.write("model.safetensors", file_with("single"));
  const auto files = TensorFiles::open(folder.path());
  ASSERT_TRUE(files.ok());
  EXPECT_TRUE(files->contains("single"));
  EXPECT_FALSE(files->contains("a"));
  folder.write("model.safetensors", "broken");
  expect_corrupt_files(folder, "header", "(in model.safetensors)");
}

TEST(TensorFiles, follows_links_as_the_hub_cache_lays_them_out) {
  const TemporaryFolder blobs;
  const TemporaryFolder folder;
  std::filesystem::create_symlink(blobs.write("0123abcd", file_with("a")),
                                  folder.path() / "model.safetensors");
  EXPECT_TRUE(TensorFiles::open(folder.path()).ok());
}

TEST(TensorFiles, tells_when_there_is_nothing_to_open) {
  const TemporaryFolder folder;
  expect_open_error(folder, ErrorCode::kNotFound, folder.path().string(), "neither");
  const auto absent = TensorFiles::open(folder.path() / "absent");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
}

TEST(TensorFiles, refuses_folders_in_place_of_files) {
  const TemporaryFolder single;
  std::filesystem::create_directory(single.path() / "model.safetensors");
  expect_open_error(single, ErrorCode::kInvalidArgument,
                    (single.path() / "model.safetensors").string(), "regular file");
  const TemporaryFolder index;
  std::filesystem::create_directory(index.path() / kIndex);
  expect_open_error(index, ErrorCode::kInvalidArgument, (index.path() / kIndex).string());
  const TemporaryFolder shard;
  write_shards(shard);
  write_index(shard, {{"a", "folder.safetensors"}});
  std::filesystem::create_directory(shard.path() / "folder.safetensors");
  expect_open_error(shard, ErrorCode::kInvalidArgument,
                    (shard.path() / "folder.safetensors").string());
}

TEST(TensorFiles, refuses_shards_that_are_missing_broken_or_empty) {
  const TemporaryFolder folder;
  write_shards(folder);
  write_index(folder, good_map());
  folder.write(kSecond, "");
  expect_corrupt_files(folder, "header", kSecond);
  folder.write(kSecond, file_with("b", "I64", "8 bytes.").substr(0, 60));
  expect_corrupt_files(folder, "header", kSecond);
  std::filesystem::remove(folder.path() / kSecond);
  expect_open_error(folder, ErrorCode::kNotFound, (folder.path() / kSecond).string());
}

TEST(TensorFiles, refuses_shard_names_that_are_no_plain_file_names) {
  const TemporaryFolder folder;
  write_shards(folder);
  std::filesystem::create_directory(folder.path() / "sub");
  folder.write("sub/a.safetensors", file_with("a"));
  const std::string names[] = {"",
                               ".",
                               "..",
                               "/",
                               "../model.safetensors",
                               "sub/a.safetensors",
                               "./" + std::string(kFirst),
                               "/etc/passwd",
                               (folder.path() / kFirst).string(),
                               "sub",
                               ".safetensors",
                               "..safetensors",
                               kFirst + "\0"s,
                               "a\0.safetensors"s,
                               "a\n.safetensors",
                               "model.bin",
                               std::string(kFirst) + " ",
                               std::string(300, 'x') + ".safetensors"};
  for (const std::string& name : names) {
    write_index(folder, {{"a", name}, {"b", kSecond}});
    expect_corrupt_files(folder, "weight_map", "file of this folder");
  }
  for (const Json& name : {Json(nullptr), Json(1), Json::array({kFirst}), Json::object()}) {
    write_index(folder, {{"a", name}, {"b", kSecond}});
    expect_corrupt_files(folder, "weight_map", "file of this folder");
  }
}

TEST(TensorFiles, takes_every_plain_file_name) {
  const TemporaryFolder folder;
  for (const std::string& name :
       {"my model.safetensors"s, "a..b.safetensors"s, std::string(243, 'x') + ".safetensors"}) {
    folder.write(name, file_with("a"));
    write_index(folder, {{"a", name}});
    const auto files = TensorFiles::open(folder.path());
    EXPECT_TRUE(files.ok()) << files.error().to_string();
  }
}

TEST(TensorFiles, opens_as_many_tensors_and_files_as_the_limits_allow) {
  const TemporaryFolder folder;
  Json map = Json::object();
  for (int file = 0; file < 1'024; ++file) {
    const std::string file_name = std::to_string(file) + ".safetensors";
    Json table = Json::object();
    for (int i = 0; i < 64; ++i) {
      const std::string name = std::to_string(file) + "." + std::to_string(i);
      table[name] = tensor_json("U8", {1}, i, i + 1);
      map[name] = file_name;
    }
    folder.write(file_name, safetensors(table.dump(), std::string(64, 'x')));
  }
  write_index(folder, map);
  const auto files = TensorFiles::open(folder.path());
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(files->bytes_total(), 65'536u);
}

TEST(TensorFiles, refuses_indexes_that_contradict_the_shards) {
  const TemporaryFolder folder;
  write_shards(folder);
  write_index(folder, {{"a", kFirst}, {"b", kSecond}, {"c", kSecond}});
  expect_corrupt_files(folder, "c", "is not in");
  write_index(folder, {{"a", kSecond}, {"b", kSecond}});
  expect_corrupt_files(folder, "a", "is not in");
  write_index(folder, {{"a", kSecond}, {"b", kFirst}});
  expect_corrupt_files(folder, "a", "places it in");
  write_index(folder, good_map());
  folder.write(
      kSecond,
      safetensors(
          Json({{"a", tensor_json("U8", {1}, 0, 1)}, {"b", tensor_json("U8", {1}, 1, 2)}}).dump(),
          "xy"));
  expect_corrupt_files(folder, "a", "places it in");
}

TEST(TensorFiles, refuses_indexes_of_another_form) {
  const TemporaryFolder folder;
  write_shards(folder);
  for (const char* text : {"", "{", "{]", "\xFF", "{}x"}) {
    folder.write(kIndex, text);
    expect_corrupt_files(folder, kIndex, "not valid JSON");
  }
  folder.write(kIndex, "{}\0"s);
  expect_corrupt_files(folder, kIndex, "not valid JSON");
  for (const char* text : {"[]", "null", "{}", R"({"weight_map":null})", R"({"weight_map":[]})",
                           R"({"weight_map":{}})", R"({"weight_map":"x"})"}) {
    folder.write(kIndex, text);
    expect_corrupt_files(folder, "weight_map");
  }
  const std::string place = "\"" + std::string(kFirst) + "\"";
  folder.write(kIndex, R"({"weight_map":{"a":)" + place + R"(,"a":)" + place + "}}");
  expect_corrupt_files(folder, kIndex, "\"a\" twice");
  folder.write(kIndex, R"({"weight_map":)" + std::string(100'000, '{'));
  expect_corrupt_files(folder, kIndex);
}

TEST(TensorFiles, holds_the_index_to_its_limits) {
  const TemporaryFolder folder;
  Json tensors = Json::object();
  for (int i = 0; i <= 65'536; ++i) tensors[std::to_string(i)] = kFirst;
  write_index(folder, tensors);
  expect_corrupt_files(folder, "weight_map", "65537 tensors, limit 65536");
  Json shards = Json::object();
  for (int i = 0; i <= 1'024; ++i) shards[std::to_string(i)] = std::to_string(i) + ".safetensors";
  write_index(folder, shards);
  expect_corrupt_files(folder, "weight_map", "1025 files, limit 1024");
  folder.write(kIndex, std::string((size_t{16} << 20) + 1, ' '));
  expect_open_error(folder, ErrorCode::kInvalidArgument, (folder.path() / kIndex).string());
}

TEST(TensorFiles, survives_mutations_of_the_index) {
  Random random(testing::test_seed());
  const TemporaryFolder folder;
  write_shards(folder);
  const std::string valid = Json({{"weight_map", good_map()}}).dump();
  for (int rounds = testing::long_or(2'000, 400); rounds > 0; --rounds) {
    std::string text = valid;
    for (uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const size_t at = random.below(text.size());
      switch (random.below(3)) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random.below(4)); break;
        default: text.insert(at, text.substr(random.below(text.size()), random.below(30)));
      }
    }
    folder.write(kIndex, text);
    const auto files = TensorFiles::open(folder.path());
    ASSERT_TRUE(!files.ok() || files->contains("a") || files->contains("b")) << text;
  }
}

}  // namespace
}  // namespace cascade
