// The figures of docs/operations.md that follow from a model's shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <sstream>

#include "base/file.h"
#include "kernels/packed_matrix.h"
#include "model/transformer.h"
#include "tests/places.h"
#include "tests/shared_dir.h"

namespace cascade::testing {
namespace {

using ::testing::HasSubstr;

std::string operations() {
  const std::filesystem::path source = source_dir();
  const auto text = read_file(source / "docs/operations.md", 1 << 20);
  CHECK(text.ok());
  return *text;
}

// The model's row in the table.
std::string row_of(const std::string& model) {
  std::istringstream lines(operations());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| " + model + " (")) return line;
  }
  ADD_FAILURE() << "there is no row of " << model;
  return {};
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

TEST(DocumentedMemory, of_k_and_v_is_what_pages_have) {
  struct Shape {
    const char* model;
    int layers, kv_heads, head_dim;
    int budgets;  // the number of budgets for which the row gives tokens
  };
  for (const auto& [model, layers, kv_heads, head_dim, budgets] :
       {Shape{"demo", 8, 2, 64, 0}, Shape{"0.6 B", 28, 8, 128, 3}, Shape{"4 B", 36, 8, 128, 3},
        Shape{"8.2 B", 36, 8, 128, 2}}) {
    ModelConfig config;
    config.layers = layers;
    config.kv_heads = kv_heads;
    config.head_dim = head_dim;
    const auto page_bytes = static_cast<int64_t>(kv_layout(config, KvType::kInt8).page_bytes());
    const std::string row = row_of(model);
    EXPECT_THAT(row, HasSubstr(std::to_string(layers) + " layers, " + std::to_string(kv_heads) +
                               " KV heads of " + std::to_string(head_dim)));
    EXPECT_THAT(row, HasSubstr("| " + with_commas(page_bytes / kPageTokens) + " B |"));
    const std::regex budget("`([0-9]+)G`: ([0-9,]+)");
    int found = 0;
    for (std::sregex_iterator it(row.begin(), row.end(), budget), end; it != end; ++it, ++found) {
      const int64_t pages = (std::stoll((*it)[1]) << 30) / page_bytes;
      EXPECT_EQ((*it)[2], with_commas(pages * kPageTokens / 1000 * 1000)) << row;
    }
    EXPECT_EQ(found, budgets) << row;
  }
}

TEST(DocumentedMemory, of_weights_is_what_they_are_packed_as) {
  constexpr int kSide = 4096;
  const auto bytes_each = [](WeightType type, bool block_scales) {
    const PackedMatrix matrix =
        describe_matrix(type, MatrixLayout::kPanels16, kSide, kSide, block_scales);
    char text[16];
    std::snprintf(text, sizeof text, "%.2f",
                  static_cast<double>(matrix.bytes()) / (double{kSide} * kSide));
    return std::string(text);
  };
  std::string text = operations();
  std::ranges::replace(text, '\n', ' ');
  EXPECT_EQ(bytes_each(WeightType::kBf16, false), "2.00");
  EXPECT_THAT(
      text, HasSubstr("`bf16` 2 bytes a parameter, `int8` " + bytes_each(WeightType::kInt8, false) +
                      ", `int4` " + bytes_each(WeightType::kInt4, false) +
                      "; from a file's blocks `int8` " + bytes_each(WeightType::kInt8, true) +
                      " and `int4` " + bytes_each(WeightType::kInt4, true) + "; `q4k` " +
                      bytes_each(WeightType::kQ4K, false) + ", `q5k` " +
                      bytes_each(WeightType::kQ5K, false) + " and `q6k` " +
                      bytes_each(WeightType::kQ6K, false) + "; `mxfp4` " +
                      bytes_each(WeightType::kMxfp4, false)));
  const std::regex row(R"(\| ([0-9.]+) B \([^)]*\) \| ([0-9.]+) GiB \|)");
  int found = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it, ++found) {
    const double gib =
        std::stod((*it)[1]) * 1e9 * std::stod(bytes_each(WeightType::kInt8, false)) / (1 << 30);
    EXPECT_NEAR(std::stod((*it)[2]), gib, 0.06) << (*it)[0];
  }
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace cascade::testing
