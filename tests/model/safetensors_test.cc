// Tests of the safetensors header: what is read, and each way in which a file can state something
// false.
#include "model/safetensors.h"

#include <gtest/gtest.h>

#include "tests/long_tests.h"
#include "tests/model/safetensors_file.h"
#include "tests/seed.h"
#include "tests/shared_dir.h"

namespace cascade {
namespace {

using namespace std::string_literals;
using testing::as_bytes;
using testing::safetensors;
using testing::safetensors_claiming;
using testing::small_data;
using testing::small_table;
using testing::tensor_json;

using Entries = std::vector<TensorEntry>;

Result<Entries> parse(std::string_view file) {
  return parse_safetensors_header(as_bytes(file));
}

Entries parsed_entries(std::string_view file) {
  const auto result = parse(file);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.ok() ? *result : Entries();
}

void expect_corrupt(std::string_view file, std::string_view field, std::string_view message = "") {
  const auto result = parse(file);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kDataCorrupt) << result.error().to_string();
  EXPECT_EQ(result.error().field, field) << result.error().to_string();
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().to_string();
  EXPECT_LT(result.error().to_string().size(), 800u);
}

// The small table with one tensor's entry replaced.
void expect_corrupt_entry(const Json& entry, std::string_view message = "") {
  Json table = small_table();
  table["b"] = entry;
  expect_corrupt(safetensors(table.dump(), small_data()), "b", message);
}

TEST(Safetensors, reads_entries_in_the_order_of_their_bytes) {
  const Entries entries = parsed_entries(safetensors(small_table().dump(), small_data()));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].type_name, "F32");
  EXPECT_EQ(entries[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(entries[0].begin, 0u);
  EXPECT_EQ(entries[0].end, 24u);
  EXPECT_EQ(entries[1].name, "empty");
  EXPECT_EQ(entries[1].shape, (std::vector<int64_t>{0, 7}));
  EXPECT_EQ(entries[2].name, "b");
  EXPECT_EQ(entries[2].begin, 24u);
  EXPECT_EQ(entries[2].end, 32u);
}

TEST(Safetensors, reads_the_fixtures) {
  for (const char* name :
       {"llama-mha", "llama3-rope", "mistral-swa", "qwen2-bias", "qwen3-gqa", "gguf-types/hf"}) {
    const auto file = MappedFile::open(testing::fixtures_dir() / name / "model.safetensors");
    ASSERT_TRUE(file.ok());
    const auto entries = parse_safetensors_header(file->bytes());
    ASSERT_TRUE(entries.ok()) << name << entries.error().to_string();
    EXPECT_GT(entries->size(), 20u);
    for (const TensorEntry& entry : *entries) EXPECT_EQ(entry.type_name, "BF16") << entry.name;
  }
}

TEST(Safetensors, accepts_files_without_tensors_padding_and_scalars) {
  EXPECT_TRUE(parsed_entries(safetensors("{}", "")).empty());
  EXPECT_TRUE(parsed_entries(safetensors("{}      ", "")).empty());
  EXPECT_TRUE(parsed_entries(safetensors(R"({"__metadata__":{}})", "")).empty());
  const Json scalar = {{"s", tensor_json("F32", Json::array(), 0, 4)}};
  const Entries entries = parsed_entries(safetensors(scalar.dump(), "1234"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_TRUE(entries[0].shape.empty());
}

TEST(Safetensors, knows_the_size_of_every_type) {
  const std::pair<const char*, size_t> bits[] = {
      {"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},
      {"I32", 32},    {"U32", 32}, {"F32", 32}, {"I64", 64},    {"U64", 64},
      {"F64", 64},    {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}};
  for (const auto& [type, size] : bits) {
    const size_t bytes = size;  // the bytes of eight elements
    const Json table = {{"t", tensor_json(type, {2, 4}, 0, bytes)}};
    EXPECT_EQ(parsed_entries(safetensors(table.dump(), std::string(bytes, 'x')))[0].type_name,
              type);
    const Json longer = {{"t", tensor_json(type, {2, 4}, 0, bytes + 1)}};
    expect_corrupt(safetensors(longer.dump(), std::string(bytes + 1, 'x')), "t", "needs");
  }
}

TEST(Safetensors, refuses_unknown_types_and_fractions_of_bytes) {
  for (const char* type : {"", "f32", "F33", "Q4_0", "float32", "F32 "}) {
    expect_corrupt_entry(tensor_json(type, {4}, 24, 32), "unknown type");
  }
  expect_corrupt_entry(tensor_json(std::string(1000, 'F'), {4}, 24, 32), "unknown type");
  expect_corrupt_entry(tensor_json("F4", {15}, 24, 32), "size");
  expect_corrupt_entry(tensor_json("F6_E2M3", {3}, 24, 32), "size");
}

TEST(Safetensors, refuses_every_truncation_of_a_small_file) {
  const std::string file = safetensors(small_table().dump(), small_data());
  for (size_t size = 0; size < file.size(); ++size) {
    const auto result = parse(std::string_view(file).substr(0, size));
    ASSERT_FALSE(result.ok()) << size;
    EXPECT_EQ(result.error().code, ErrorCode::kDataCorrupt);
  }
  EXPECT_EQ(parsed_entries(file).size(), 3u);
  expect_corrupt(file + "x", "header", "leaves 1 bytes");
}

TEST(Safetensors, refuses_header_lengths_that_lie) {
  const std::string header = small_table().dump();
  const auto claiming = [&](uint64_t bytes) {
    return safetensors_claiming(bytes, header, small_data());
  };
  expect_corrupt(claiming(0), "header", "must begin");
  expect_corrupt(claiming(header.size() - 1), "header", "not valid JSON");
  expect_corrupt(claiming(header.size() + 1), "header", "not valid JSON");
  expect_corrupt(claiming(header.size() + 33), "header", "truncated");
  expect_corrupt(claiming(16u << 20), "header", "truncated");
  expect_corrupt(claiming((16u << 20) + 1), "header", "limit 16777216");
  for (const uint64_t bytes : {uint64_t{1} << 32, uint64_t{1} << 63, UINT64_MAX - 7, UINT64_MAX}) {
    expect_corrupt(claiming(bytes), "header", "limit 16777216");
  }
  expect_corrupt("", "header", "truncated");
  expect_corrupt(std::string(7, '\0'), "header", "truncated");
  expect_corrupt(std::string(8, '\0'), "header", "must begin");
}

TEST(Safetensors, refuses_headers_that_are_no_table) {
  for (const char* header : {"[]", "null", "\"x\"", "1", " {}", "\xEF\xBB\xBF{}"}) {
    expect_corrupt(safetensors(header, ""), "header", "must begin");
  }
  for (const std::string& header :
       {"{"s, "{]"s, "{\"a\"}"s, "{}x"s, "{}{}"s, "{\"a\":}"s, "{'a':1}"s, "{}\0"s,
        "{\"\xFF\":{}}"s, "{\"\\ud800\":{}}"s, "{//\n}"s}) {
    expect_corrupt(safetensors(header, ""), "header", "not valid JSON");
  }
  expect_corrupt(safetensors("{\"a\":1e999}", ""), "header", "too large for f64");
}

TEST(Safetensors, refuses_names_and_keys_that_occur_twice) {
  const std::string entry = tensor_json("U8", {1}, 0, 1).dump();
  expect_corrupt(safetensors("{\"a\":" + entry + ",\"a\":" + entry + "}", "x"), "header",
                 "\"a\" twice");
  // The two names are equal after unescaping.
  expect_corrupt(safetensors("{\"a\":" + entry + ",\"\\u0061\":" + entry + "}", "x"), "header",
                 "\"a\" twice");
  expect_corrupt(
      safetensors(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x"),
      "header", "\"dtype\" twice");
  expect_corrupt(safetensors(R"({"__metadata__":{},"__metadata__":{}})", ""), "header", "twice");
  expect_corrupt(safetensors(R"({"__metadata__":{"k":"1","k":"2"}})", ""), "header", "twice");
}

TEST(Safetensors, refuses_metadata_that_is_not_strings) {
  for (const Json& metadata : {Json("pt"), Json(nullptr), Json::array({"pt"}), Json(1),
                               Json{{"format", 1}}, Json{{"format", nullptr}},
                               Json{{"format", {{"a", "b"}}}}, Json{{"ok", "x"}, {"no", {1}}}}) {
    const Json table = {{"__metadata__", metadata}};
    expect_corrupt(safetensors(table.dump(), ""), "header", "__metadata__");
  }
}

TEST(Safetensors, refuses_entries_of_another_form) {
  const Json fine = tensor_json("BF16", {4}, 24, 32);
  for (const Json& entry : {Json(nullptr), Json(1), Json("x"), Json::array(), Json::object()}) {
    expect_corrupt_entry(entry, "must be an object");
  }
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    Json less = fine;
    less.erase(key);
    expect_corrupt_entry(less, "must be an object");
    less["other"] = 1;
    expect_corrupt_entry(less, key);
    for (const Json& value : {Json(nullptr), Json(1), Json(true), Json::object()}) {
      Json other = fine;
      other[key] = value;
      expect_corrupt_entry(other, key);
    }
  }
  Json more = fine;
  more["stride"] = 1;
  expect_corrupt_entry(more, "must be an object");
}

TEST(Safetensors, takes_whole_numbers_only) {
  for (const Json& bad : {Json(-1), Json(4.0), Json("4"), Json(nullptr), Json(true),
                          Json(UINT64_MAX), Json(INT64_MIN), Json(1e30)}) {
    expect_corrupt_entry(tensor_json("BF16", Json::array({bad}), 24, 32), "shape");
    expect_corrupt_entry(tensor_json("BF16", {4}, bad, 32), "data_offsets");
    expect_corrupt_entry(tensor_json("BF16", {4}, 24, bad), "data_offsets");
  }
  Json entry = tensor_json("BF16", {4}, 24, 32);
  for (const Json& offsets : {Json::array(), Json({24}), Json({24, 32, 32})}) {
    entry["data_offsets"] = offsets;
    expect_corrupt_entry(entry, "data_offsets");
  }
}

TEST(Safetensors, takes_eight_dimensions_and_not_nine) {
  Json table = small_table();
  table["b"] = tensor_json("BF16", {1, 1, 4, 1, 1, 1, 1, 1}, 24, 32);
  EXPECT_EQ(parsed_entries(safetensors(table.dump(), small_data()))[2].shape.size(), 8u);
  expect_corrupt_entry(tensor_json("BF16", {1, 1, 4, 1, 1, 1, 1, 1, 1}, 24, 32), "limit 8");
}

TEST(Safetensors, refuses_shapes_whose_product_overflows) {
  const int64_t big = int64_t{1} << 32;
  for (const Json& shape :
       {Json({big, big}), Json({INT64_MAX}), Json({INT64_MAX, 0}), Json({INT64_MAX, INT64_MAX}),
        Json({2, 2, big, big / 4}), Json({int64_t{1} << 62, 4})}) {
    expect_corrupt_entry(tensor_json("BF16", shape, 24, 32), "size");
    expect_corrupt_entry(tensor_json("BF16", shape, 24, 24), "size");
  }
}

TEST(Safetensors, refuses_sizes_that_contradict_type_and_shape) {
  expect_corrupt_entry(tensor_json("BF16", {3}, 24, 32), "needs 6 bytes");
  expect_corrupt_entry(tensor_json("BF16", {5}, 24, 32), "needs 10 bytes");
  expect_corrupt_entry(tensor_json("F32", {4}, 24, 32), "needs 16 bytes");
  expect_corrupt_entry(tensor_json("BF16", {0}, 24, 32), "needs 0 bytes");
  expect_corrupt_entry(tensor_json("BF16", {4}, 32, 24), "needs 8 bytes");
  expect_corrupt_entry(tensor_json("BF16", {4}, 24, INT64_MAX), "needs 8 bytes");
}

TEST(Safetensors, refuses_tensors_that_overlap_leave_gaps_or_end_outside) {
  expect_corrupt_entry(tensor_json("BF16", {4}, 23, 31), "overlaps");
  expect_corrupt_entry(tensor_json("BF16", {12}, 0, 24), "overlaps");
  expect_corrupt_entry(tensor_json("BF16", {3}, 26, 32), "gap");
  expect_corrupt_entry(tensor_json("BF16", {4}, 25, 33), "beyond");
  expect_corrupt_entry(tensor_json("BF16", {4}, INT64_MAX - 8, INT64_MAX), "beyond");
  expect_corrupt_entry(tensor_json("BF16", {0}, INT64_MAX, INT64_MAX), "beyond");
  Json table = small_table();
  table["b"] = tensor_json("BF16", {3}, 24, 30);
  expect_corrupt(safetensors(table.dump(), small_data()), "header", "leaves 2 bytes");
  table["c"] = tensor_json("U8", {0}, 31, 31);
  expect_corrupt(safetensors(table.dump(), small_data()), "c", "gap");
  table["c"] = tensor_json("U8", {0}, 8, 8);
  expect_corrupt(safetensors(table.dump(), small_data()), "c", "overlaps");
  const Json late = {{"a", tensor_json("U8", {1}, 1, 2)}};
  expect_corrupt(safetensors(late.dump(), "xy"), "a", "gap");
}

TEST(Safetensors, refuses_names_that_are_empty_long_or_unprintable) {
  const auto named = [](const std::string& name) {
    const Json table = {{name, tensor_json("U8", {1}, 0, 1)}};
    return safetensors(table.dump(), "x");
  };
  EXPECT_EQ(parsed_entries(named(std::string(512, 'n')))[0].name.size(), 512u);
  EXPECT_EQ(parsed_entries(named("m\u00f6del.\u6a21"))[0].name, "m\u00f6del.\u6a21");
  EXPECT_EQ(parsed_entries(named("a b"))[0].name, "a b");
  expect_corrupt(named(std::string(513, 'n')), "header", "limit 512");
  for (const std::string& name : {""s, "a\nb"s, "a\0b"s, "\x1B[2J"s, "\x7F"s}) {
    expect_corrupt(named(name), "header", "tensor name");
  }
}

TEST(Safetensors, holds_the_number_of_tensors_to_its_limit) {
  const auto with_tensors = [](int count) {
    std::string header = "{\"__metadata__\":{}";
    for (int i = 0; i < count; ++i) {
      header += ",\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    }
    return safetensors(header + "}", "");
  };
  EXPECT_EQ(parsed_entries(with_tensors(65'536)).size(), 65'536u);
  expect_corrupt(with_tensors(65'537), "header", "limit 65536");
}

TEST(Safetensors, refuses_absurd_structure_before_it_costs_memory) {
  expect_corrupt(safetensors("{\"a\":" + std::string(1'000'000, '['), ""), "header");
  std::string nested;
  for (int i = 0; i < 1'000'000; ++i) nested += "{\"a\":";
  expect_corrupt(safetensors(nested, ""), "header");
  std::string wide = "{\"a\":[0";
  for (int i = 0; i < 2'000'000; ++i) wide += ",0";
  expect_corrupt(safetensors(wide + "]}", ""), "header", "too many values");
  expect_corrupt(safetensors(R"({"a":{"shape":[[[]]]}})", ""), "header", "nested deeper");
}

// All entries that pass the checks must be safe to use.
void expect_consistent(const Entries& entries, std::string_view file) {
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  uint64_t covered = 0;
  for (const TensorEntry& entry : entries) {
    ASSERT_EQ(entry.begin, covered);
    ASSERT_LE(entry.begin, entry.end);
    covered = entry.end;
  }
  ASSERT_EQ(covered, file.size() - sizeof header_bytes - header_bytes);
}

TEST(Safetensors, survives_mutations) {
  Random random(testing::test_seed());
  const std::string valid = safetensors(small_table().dump(), small_data());
  const std::string_view pieces[] = {"0",  "9",   "-",    "[",  "]",      "{",    "}",   "\"",
                                     ",",  ":",   "null", "1e", "999999", "F32",  "\\u", "\xFF",
                                     "\0", "U64", "[]",   "{}", "shape",  "dtype"};
  int accepted = 0;
  const int rounds = testing::long_or(20'000, 4'000);
  for (int round = 0; round < rounds; ++round) {
    std::string file = valid;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const size_t at = random.below(file.size());
      switch (random.below(5)) {
        case 0: file[at] = static_cast<char>(random()); break;
        case 1: file.erase(at, 1 + random.below(8)); break;
        case 2: file.insert(at, pieces[random.below(std::size(pieces))]); break;
        case 3: file.insert(at, file.substr(random.below(file.size()), random.below(20))); break;
        default: file[at] = static_cast<char>(file[at] ^ (1 << random.below(8)));
      }
      if (file.empty()) file = valid;
    }
    if (file.size() > 8 && random.below(2) == 0) {  // get past the length, into the JSON
      const uint64_t length = file.size() - 8 - std::min<size_t>(file.size() - 8, 32);
      std::memcpy(file.data(), &length, sizeof length);
    }
    const auto result = parse(file);
    if (!result.ok()) {
      ASSERT_EQ(result.error().code, ErrorCode::kDataCorrupt);
      ASSERT_FALSE(result.error().message.empty());
      continue;
    }
    ++accepted;
    expect_consistent(*result, file);
  }
  EXPECT_GT(accepted, 0) << "some mutations are harmless";
  EXPECT_LT(accepted, rounds / 2);
}

}  // namespace
}  // namespace cascade
