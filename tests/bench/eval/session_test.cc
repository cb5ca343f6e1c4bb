// Chains of a session that are many times longer than its memory for K and V.
#include "bench/eval/session.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "model/row_mover.h"
#include "tests/long_tests.h"
#include "tests/model/stepping.h"
#include "tests/shared_dir.h"
#include "tests/temporary_folder.h"

namespace cascade::eval {
namespace {

// A sixteenth of half a million and of a million tokens; in long tests, a quarter. The model was
// made for 512, and YaRN's factor is at most 1,000.
const int64_t kHalf = testing::long_or(125'000, 31'250), kWhole = 2 * kHalf;

SessionOptions extended_by_yarn() {
  SessionOptions options;
  options.model_dir = (testing::fixtures_dir() / "qwen3-yarn").string();
  options.weights = "int8";
  options.kv = "int8";
  options.rope_scaling = "yarn:" + std::to_string(kWhole / 512 + 1) + ":512";
  options.threads = 2;
  options.attention = "select:256";
  return options;
}

std::unique_ptr<Session> open(const SessionOptions& options) {
  auto session = Session::open(options);
  EXPECT_TRUE(session.ok()) << session.error().to_string();
  return *std::move(session);
}

// The logits after half of a chain and after each of its last three tokens, bit for bit.
std::vector<uint32_t> bits_of_chain(Session& session) {
  Random random(7);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < kWhole; ++i) ids.push_back(static_cast<int32_t>(random.below(256)));
  std::vector<uint32_t> bits;
  const auto append = [&](int64_t begin, int64_t end) {
    const auto keep = [&](size_t, std::span<float> logits) {
      for (const float x : logits) bits.push_back(std::bit_cast<uint32_t>(x));
    };
    EXPECT_TRUE(session.append(std::span(ids).subspan(begin, end - begin), 0, 1, keep).ok());
  };
  append(0, kHalf);
  append(kHalf, kWhole - 2);
  append(kWhole - 2, kWhole - 1);
  append(kWhole - 1, kWhole);
  return bits;
}

TEST(Session, a_chain_of_eight_times_the_memory_has_the_bits_of_one_that_fits) {
  const auto in_memory = open(extended_by_yarn());
  const std::vector<uint32_t> expected = bits_of_chain(*in_memory);
  const testing::TemporaryFolder folder;
  SessionOptions options = extended_by_yarn();
  const size_t page_bytes = in_memory->model().kv_layout.indexed_page_bytes();
  options.kv_memory = kWhole / kPageTokens * static_cast<int64_t>(page_bytes) / 8;
  options.spill_dir = folder.path();
  const auto in_file = open(options);
  EXPECT_EQ(bits_of_chain(*in_file), expected);
  EXPECT_EQ(in_file->selected_tokens(), in_memory->selected_tokens());
  EXPECT_GT(in_file->selected_tokens(), kWhole - 2048);
}

TEST(Session, goes_on_from_its_recurrent_state_however_ids_are_cut) {
  SessionOptions options;
  options.model_dir = (testing::fixtures_dir() / "qwen3-next").string();
  options.weights = "int8";
  options.kv = "int8";
  options.threads = 2;
  const auto session = open(options);
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < 200; ++i) ids.push_back(i * 37 % 260);
  std::vector<std::vector<float>> last;
  for (const int slice : {0, 1, 64}) {
    session->clear();
    ASSERT_TRUE(session
                    ->append(ids, slice, 1,
                             [&](size_t, std::span<float> logits) {
                               last.emplace_back(logits.begin(), logits.end());
                             })
                    .ok());
  }
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last[0], last[1]);
  EXPECT_EQ(last[0], last[2]);
  EXPECT_DEATH(session->cut(100), "check failed") << "the state there is not known";
}

// A chain of 200 tokens, in which the tokens from 70 on are to be taken out, up to 150.
class SessionRemove : public ::testing::Test {
 protected:
  static constexpr int64_t kBegin = 70, kEnd = 150, kLength = 200;

  SessionRemove() {
    SessionOptions options;
    options.model_dir = (testing::fixtures_dir() / "qwen3-gqa").string();
    options.threads = 2;
    session_ = open(options);
    Random random(11);
    for (int64_t i = 0; i < kLength; ++i) {
      ids_.push_back(static_cast<int32_t>(random.below(256)));
    }
  }

  std::span<const int32_t> ids(int64_t begin, int64_t end) const {
    return std::span(ids_).subspan(begin, end - begin);
  }
  // The logits after the last token.
  std::vector<float> append(std::span<const int32_t> tokens) {
    std::vector<float> last;
    EXPECT_TRUE(
        session_
            ->append(tokens, 0, 1,
                     [&](size_t, std::span<float> row) { last.assign(row.begin(), row.end()); })
            .ok());
    return last;
  }
  std::vector<float> after_removal(Approximation how) {
    session_->clear();
    append(ids_);
    session_->remove(kBegin, kEnd, how);
    EXPECT_EQ(session_->length(), kLength - (kEnd - kBegin));
    return append(ids(0, 3));
  }
  std::vector<float> exact() {
    session_->clear();
    append(ids(0, kBegin));
    append(ids(kEnd, kLength));
    return append(ids(0, 3));
  }

  std::unique_ptr<Session> session_;
  std::vector<int32_t> ids_;
};

// The same with pages of their own for the tokens that are moved.
std::vector<float> moved_apart(const Model& model, std::span<const int32_t> ids, int64_t begin,
                               int64_t end, bool turns, std::span<const int32_t> next) {
  ThreadPool pool(1);
  Transformer transformer(model.config, model.weights, *model.kernels, model.kv_layout, pool);
  const testing::ChainPages whole(model.kv_layout, ids.size());
  const testing::ChainPages rest(model.kv_layout, ids.size());
  const auto run = [&](std::span<const int32_t> tokens, int64_t position,
                       const testing::ChainPages& pages, int64_t free_positions) {
    std::vector<float> hidden(model.config.hidden_size);
    Slice slice = {tokens, position, pages.pages(), 1};
    slice.free_positions = free_positions;
    EXPECT_TRUE(transformer.forward(std::span(&slice, 1), hidden.data()).ok());
    return hidden;
  };
  run(ids, 0, whole, 0);
  run(ids.first(begin), 0, rest, 0);
  const auto count = std::ssize(ids) - end;
  RowMover(model.config, *model.kernels, model.kv_layout, pool)
      .move({whole.pages(), end, rest.pages(), begin, count, turns ? begin - end : 0});
  const std::vector<float> hidden = run(next, begin + count, rest, turns ? 0 : end - begin);
  std::vector<float> logits(model.config.vocab_size);
  transformer.logits(hidden.data(), 1, logits.data());
  return logits;
}

TEST_F(SessionRemove, tokens_move_within_their_pages_as_they_do_to_others) {
  const std::vector<float> exact = this->exact();
  for (const auto how : {Approximation::kSplice, Approximation::kMask}) {
    const std::vector<float> removed = after_removal(how);
    EXPECT_EQ(removed, moved_apart(session_->model(), ids_, kBegin, kEnd,
                                   how == Approximation::kSplice, ids(0, 3)))
        << to_string(how);
    EXPECT_NE(removed, exact) << to_string(how);
  }
}

TEST_F(SessionRemove, free_positions_take_room_until_the_chain_is_cut_before_them) {
  const int64_t context = session_->model().config.context_tokens_max;
  ASSERT_GT(context, kLength + 10);
  after_removal(Approximation::kSplice);
  EXPECT_EQ(session_->room(), context - session_->length());
  after_removal(Approximation::kMask);
  EXPECT_EQ(session_->room(), context - session_->length() - (kEnd - kBegin));
  const auto too_long = std::vector<int32_t>(static_cast<size_t>(session_->room() + 1), 0);
  EXPECT_FALSE(session_->append(too_long).ok());
  session_->cut(kBegin + 1);
  EXPECT_EQ(session_->room(), context - (kBegin + 1) - (kEnd - kBegin));
  session_->cut(kBegin);
  EXPECT_EQ(session_->room(), context - kBegin);
}

TEST_F(SessionRemove, tokens_before_those_taken_out_keep_their_bits) {
  const std::vector<float> exact = this->exact();
  for (const auto how : {Approximation::kSplice, Approximation::kMask}) {
    after_removal(how);
    session_->cut(kBegin);
    append(ids(kEnd, kLength));
    EXPECT_EQ(append(ids(0, 3)), exact) << to_string(how);
  }
}

}  // namespace
}  // namespace cascade::eval
