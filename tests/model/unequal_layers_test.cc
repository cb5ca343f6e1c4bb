// Models whose layers have different heads, or use K and V of earlier layers (Gemma 4): what is
// read from disk and what is chosen gives the bits of a pass in memory.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/attention_pages.h"
#include "model/attention_pass.h"
#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

constexpr int kUnequalTokens = 330;

// Reads the parts of a chain's pages from memory.
class PartsInMemory : public KvPartReader {
 public:
  PartsInMemory(const KvLayout& layout, KvPages pages) : layout_(layout), pages_(pages) {}

  Status read(int part, std::span<const int32_t> pages, uint8_t* to) override {
    const KvPartLayout& of = layout_.parts[size_t(part)];
    for (const int32_t page : pages) {
      read_.insert({part, page});
      std::memcpy(to, pages_[size_t(page)] + of.begin, of.bytes());
      to += of.stride();
    }
    return {};
  }

  Status read_blocks(int, std::span<const int32_t>, uint8_t*) override {
    return Error{ErrorCode::kInternal, "block", "is not wanted"};
  }

  // Part and page.
  const std::set<std::pair<int, int>>& was_read() const { return read_; }

 private:
  const KvLayout layout_;
  const KvPages pages_;
  std::set<std::pair<int, int>> read_;
};

class UnequalLayers : public ::testing::TestWithParam<const char*> {};

TEST_P(UnequalLayers, parts_that_are_read_give_the_bits_of_a_pass_in_memory) {
  for (const KvType type : {KvType::kF32, KvType::kInt8}) {
    const auto model = load(GetParam(), {.kv_type = type}, two_threads());
    ASSERT_TRUE(model);
    Transformer transformer(model->config, model->weights, *model->kernels, model->kv_layout,
                            two_threads());
    Random random(test_seed());
    const Ids ids = random_ids(random, kUnequalTokens, model->config.vocab_size);
    ChainPages chain(model->kv_layout, ids.size());
    constexpr int kAt = kUnequalTokens - 7;  // within the last page
    const auto width = static_cast<size_t>(model->config.hidden_size);
    std::vector<float> ignored(width), expected(2 * width), actual(2 * width);
    const Slice before = {std::span(ids).first(kAt), 0, chain.pages(), 1};
    ASSERT_TRUE(transformer.forward({&before, 1}, ignored.data()).ok());
    const Slice in_memory = {std::span(ids).subspan(kAt), kAt, chain.pages(), 2};
    ASSERT_TRUE(transformer.forward({&in_memory, 1}, expected.data()).ok());

    std::vector<uint8_t*> some(chain.pages().begin(), chain.pages().end());
    PartsInMemory reader(model->kv_layout, chain.pages());
    std::fill(some.begin(), some.end() - 1, nullptr);
    const Slice from_disk = {std::span(ids).subspan(kAt), kAt, some, 2, &reader};
    ASSERT_TRUE(transformer.forward({&from_disk, 1}, actual.data()).ok());
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0);
    for (int part = 0; part < model->kv_layout.part_count(); ++part) {
      const bool slides = model->config.window[size_t(part)] > 0;
      EXPECT_EQ(reader.was_read().contains({part, 0}), !slides) << part;
      EXPECT_TRUE(reader.was_read().contains({part, 4})) << part;
    }
  }
}

TEST_P(UnequalLayers, layers_without_k_and_v_of_their_own_take_no_room_in_pages) {
  const auto model = load(GetParam(), {}, two_threads());
  ASSERT_TRUE(model);
  const auto& shapes = model->config.attention_shapes;
  const auto writers = std::ranges::count(shapes, true, &AttentionShape::writes_kv);
  ASSERT_EQ(model->kv_layout.part_count(), writers);
  for (const AttentionShape& shape : shapes) {
    const KvPartLayout& part = model->kv_layout.parts[size_t(shape.kv_part)];
    EXPECT_EQ(part.head_dim, shape.head_dim);
    EXPECT_EQ(part.kv_heads, shape.kv_heads);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, UnequalLayers,
                         ::testing::Values("gemma4-shared", "gemma4-alike", "gemma4-moe"),
                         test_name_of);

}  // namespace
}  // namespace cascade::testing
