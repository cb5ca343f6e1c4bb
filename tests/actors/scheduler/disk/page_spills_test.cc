// Sequences longer than memory: which pages are leased, spilled, adopted and lost.
#include "actors/scheduler/disk/page_spills.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::Tokens;

constexpr size_t kPoolPages = 12;
// Slices of two pages: six working pages.
constexpr ReaderSliceLimits kSlices = {.usual_tokens = 128, .tokens_max = 128};

class PageSpillsTest : public testing::RoomTest {
 protected:
  PageSpillsTest() : RoomTest(kPoolPages) {}

  // A running request with this prompt, nothing of which is computed.
  Request& start(Tokens prompt, bool reader = true) {
    auto request = std::make_unique<Request>();
    request->handle = requests_.next_handle();
    request->client = {"alice", "client" + std::to_string(request->handle)};
    request->prompt = std::move(prompt);
    request->reader = reader;
    request->sequence = std::make_unique<ChainSequence>(memory_.index, memory_.pool, memory_.arena,
                                                        alice_, request->use());
    request->sequence->reuse({}, clock_.wall_us());
    Request& added = requests_.add(std::move(request));
    requests_.start(added);
    return added;
  }
  void compute_next(Request& request, int64_t tokens) {
    const auto done = static_cast<size_t>(request.sequence->committed());
    ASSERT_TRUE(memory_.compute(
        *request.sequence, std::span(request.prompt).subspan(done, static_cast<size_t>(tokens)),
        clock_.wall_us()));
    request.sequence->refresh();
  }
  // The store has written all full pages of the request.
  void write(const Request& request) {
    for (const ChainIndex::Node* node : request.sequence->nodes()) {
      const ChainIndex::PageName name = name_of(node);
      stored_.add(name.key, name.parent, static_cast<int32_t>(name.tokens.size()));
    }
  }
  // Answers the next LeasePages with leases from `first` on; those of `none` are refused.
  size_t lease(uint32_t first = 0, std::vector<size_t> none = {}) {
    return lease_for(spills_, first, std::move(none));
  }
  size_t lease_for(PageSpills& spills, uint32_t first = 0, std::vector<size_t> none = {}) {
    const auto asked = take<wire::LeasePages>();
    if (asked.empty()) return 0;
    wire::PagesLeased leased;
    leased.job = asked[0].job;
    for (uint32_t i = 0; i < asked[0].keys.size(); ++i) leased.leases.push_back(first + i);
    for (const size_t i : none) leased.leases[i] = wire::PagesLeased::kNone;
    spills.on(std::move(leased));
    return asked[0].keys.size();
  }

  SpeedEstimate speed_;
  RequestTable requests_;
  std::vector<int64_t> adopted_;
  PageSpills spills_ = spills_of(kPoolPages, speed_, requests_, kSlices,
                                 [this](Request&, int64_t tokens) { adopted_.push_back(tokens); });
};

TEST_F(PageSpillsTest, need_a_disk_and_more_memory_than_working_pages) {
  EXPECT_TRUE(spills_.possible());
  EXPECT_EQ(spills_.promised_pages({}, 0), 7);  // one for repairs
  const auto other = [&](bool keeps_pages, size_t pool) {
    return spills_of(pool, speed_, requests_, kSlices, {}, keeps_pages);
  };
  EXPECT_FALSE(other(false, 100).possible());
  EXPECT_FALSE(other(true, 4).possible());
  EXPECT_TRUE(other(true, 5).possible());
  EXPECT_EQ(other(true, 1000).promised_pages({}, 0), 7);
}

TEST_F(PageSpillsTest, promise_memory_for_indexes_to_readers_that_select) {
  const PageSpills spills = spills_of(100, speed_, requests_, kSlices, {}, true, 10);
  const int64_t others = spills.promised_pages({}, 5000);
  EXPECT_EQ(others, spills.promised_pages(kWindowMode, 5000));
  EXPECT_EQ(spills.index_pages(kSelectMode, 10 * kPageTokens), 1);
  EXPECT_EQ(spills.index_pages(kSelectMode, 10 * kPageTokens + 1), 2);
  EXPECT_EQ(spills.promised_pages(kSelectMode, 10 * kPageTokens + 1), others + 2);
  EXPECT_EQ(spills.tokens_max({}), INT64_MAX);
  EXPECT_EQ(spills.tokens_max(kSelectMode), 25 * 10 * kPageTokens) << "a quarter of memory";
  // Working pages and one for repairs leave one page, or none.
  const PageSpills small = spills_of(6, speed_, requests_, kSlices, {}, true, 10);
  EXPECT_EQ(small.tokens_max(kSelectMode), 10 * kPageTokens);
  const PageSpills smaller = spills_of(5, speed_, requests_, kSlices, {}, true, 10);
  EXPECT_EQ(smaller.tokens_max(kSelectMode), 0);
}

TEST_F(PageSpillsTest, indexes_take_memory_that_is_owed_until_then) {
  const PageSpills spills = spills_of(kPoolPages, speed_, requests_, kSlices, {}, true, 2);
  Request& reader = start(count_up(0, 2000));
  reader.attention = kSelectMode;
  reader.pages_promised = spills.promised_pages(kSelectMode, 6 * kPageTokens);
  EXPECT_EQ(spills.pages_owed(), 7 + 3);
  const size_t free = memory_.pool.free_count();
  ASSERT_TRUE(spills.reserve_indexes(reader, 4 * kPageTokens));
  ASSERT_TRUE(spills.reserve_indexes(reader, 3 * kPageTokens)) << "it has that memory";
  EXPECT_EQ(memory_.pool.free_count(), free - 2);
  EXPECT_EQ(spills.pages_owed(), 7 + 1);
  ASSERT_TRUE(reader.sequence->reserve(5 * kPageTokens));
  ASSERT_TRUE(spills.reserve_indexes(reader, kPageTokens));
  EXPECT_EQ(reader.sequence->indexes().pages.size(), 3u) << "each page that it has has an index";
  reader.sequence->unreserve();
  EXPECT_TRUE(spills.is_ready(reader)) << "indexes are no working pages";
  reader.sequence->finish(clock_.wall_us());
  EXPECT_EQ(memory_.pool.free_count(), free);
  // Others need none.
  for (const bool selects : {false, true}) {
    Request& other = start(count_up(5000, 100), /*reader=*/!selects);
    if (selects) other.attention = kSelectMode;
    EXPECT_TRUE(spills.reserve_indexes(other, 100));
    EXPECT_TRUE(other.sequence->indexes().pages.empty());
  }
}

TEST_F(PageSpillsTest, a_reader_waits_until_its_pages_are_written_and_leased) {
  Request& reader = start(count_up(0, 2000));
  EXPECT_TRUE(spills_.is_ready(reader));
  compute_next(reader, 6 * 64);
  EXPECT_FALSE(spills_.is_ready(reader));
  spills_.lease_more();
  EXPECT_EQ(lease(), 0u);  // nothing is on disk
  write(reader);
  spills_.lease_more();
  spills_.lease_more();  // one message at a time
  EXPECT_EQ(lease(), 6u);
  EXPECT_TRUE(spills_.is_ready(reader));
  EXPECT_EQ(spills_.slice_end(reader, 400), 8 * 64);
  // Requests that fit memory never wait for that.
  Request& other = start(count_up(5000, 100), /*reader=*/false);
  EXPECT_TRUE(spills_.is_ready(other));
  other.loading = true;
  EXPECT_FALSE(spills_.is_ready(other));
}

TEST_F(PageSpillsTest, slices_follow_the_disk_and_the_readers_working_pages) {
  // Memory for longer slices than usual.
  PageSpills spills = spills_of(1000, speed_, requests_, {.usual_tokens = 128, .tokens_max = 512});
  EXPECT_EQ(spills.promised_pages({}, 0), 3 * 8 + 1);
  Request& reader = start(count_up(0, 2000));
  speed_.add_prefill(128, 128 * 1'000);
  spills.add_read(1'000, 56'000);
  EXPECT_EQ(spills.slice_end(reader, 64), 128) << "nothing has to be read";
  compute_next(reader, 6 * 64);
  write(reader);
  spills.lease_more();
  ASSERT_EQ(lease_for(spills), 6u);
  for (int i = 0; i < 6; ++i) memory_.index.evict_one();
  reader.sequence->refresh();
  // Six pages are read in 336 ms, while 336 tokens are computed. With a margin, 420.
  EXPECT_EQ(spills.slice_end(reader, 64), (6 + 6) * 64);
  EXPECT_TRUE(spills.is_ready(reader));
  EXPECT_FALSE(spills.is_ready(reader, 25 * 64)) << "more than its working pages";
  Request& other = start(count_up(5000, 100), /*reader=*/false);
  requests_.decode(other);
  EXPECT_EQ(spills.slice_end(reader, 7 * 64), 7 * 64) << "somebody waits for tokens";
  // The rest reads what is beyond the memory for each slice.
  EXPECT_EQ(spills.wait_us(reader, 0, 64'000), 0);
  EXPECT_GT(spills.wait_us(reader, 0, 100'000), 0);
}

TEST_F(PageSpillsTest, readers_are_owed_what_they_do_not_have_and_shared_pages_count_once) {
  EXPECT_EQ(spills_.pages_owed(), 0);
  Request& first = start(count_up(0, 2000));
  first.pages_promised = spills_.promised_pages({}, 0);
  EXPECT_EQ(spills_.pages_owed(), 7);
  compute_next(first, 3 * 64 + 10);
  EXPECT_EQ(spills_.pages_owed(), 3);  // one page is begun
  Request& second = start({});
  second.pages_promised = spills_.promised_pages({}, 0);
  second.sequence = std::make_unique<ChainSequence>(memory_.index, memory_.pool, memory_.arena,
                                                    alice_, second.use());
  second.sequence->reuse(std::span(first.prompt).first(3 * 64), clock_.wall_us());
  EXPECT_EQ(spills_.pages_owed(), 3 + 7);
  write(first);
  spills_.lease_more();
  EXPECT_EQ(lease(), 3u);
  EXPECT_EQ(spills_.pages_owed(), 6 + 7);
}

TEST_F(PageSpillsTest, a_page_that_cannot_be_leased_is_not_on_disk) {
  Request& reader = start(count_up(0, 2000));
  compute_next(reader, 3 * 64);
  write(reader);
  spills_.lease_more();
  EXPECT_EQ(lease(0, {1}), 3u);
  EXPECT_EQ(reader.sequence->pages_kept(), 1);
  EXPECT_FALSE(stored_.disk().contains(key_of(reader.sequence->nodes()[1])));
  EXPECT_EQ(stored_.counters().pages_bad, 1);
  EXPECT_EQ(lease(), 0u);  // it is asked for again when it is written again
  write(reader);
  spills_.lease_more();
  EXPECT_EQ(lease(7), 1u);
  EXPECT_EQ(reader.sequence->pages_kept(), 0);
}

TEST_F(PageSpillsTest, pages_on_disk_are_adopted_as_far_as_they_are_good) {
  Request& writer = start(count_up(0, 700));
  compute_next(writer, 10 * 64);
  write(writer);
  writer.sequence->finish(clock_.wall_us());
  requests_.leave(writer);
  requests_.remove(writer.handle);
  evict();
  Request& reader = start(count_up(0, 700));
  EXPECT_TRUE(spills_.adopt_more(reader));
  EXPECT_EQ(lease(0, {4}), 10u);
  EXPECT_EQ(adopted_, std::vector<int64_t>{4 * 64});
  EXPECT_EQ(reader.sequence->committed(), 4 * 64);
  // The leases after the bad page are given up.
  EXPECT_EQ(take<wire::ReleaseLeases>().at(0).leases, (std::vector<uint32_t>{5, 6, 7, 8, 9}));
  EXPECT_FALSE(spills_.adopt_more(reader));  // until that page is computed
  compute_next(reader, 64);
  EXPECT_TRUE(spills_.adopt_more(reader));
  EXPECT_EQ(lease(20), 5u);
  EXPECT_EQ(reader.sequence->committed(), 10 * 64);
}

TEST_F(PageSpillsTest, a_lost_page_is_removed_from_disk_and_named) {
  Request& reader = start(count_up(0, 2000));
  compute_next(reader, 4 * 64);
  write(reader);
  spills_.lease_more();
  lease();
  while (memory_.index.spillable_count() > 0) memory_.index.evict_one();
  reader.sequence->refresh();
  const auto nobody = [](const Request&) { return false; };
  EXPECT_FALSE(spills_.next_lost(nobody).has_value());
  const Digest key = key_of(reader.sequence->nodes()[2]);
  spills_.lose(reader, 2);
  EXPECT_EQ(take<wire::RemovePages>().at(0).keys, std::vector<std::string>{key.hex()});
  EXPECT_FALSE(spills_.is_ready(reader));
  const auto lost = spills_.next_lost(nobody);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->reader, &reader);
  EXPECT_EQ(lost->page, 2u);
  EXPECT_FALSE(spills_.next_lost([](const Request&) { return true; }).has_value());
  spills_.release_unused();
  EXPECT_EQ(take<wire::ReleaseLeases>().at(0).leases, std::vector<uint32_t>{2});
}

TEST_F(PageSpillsTest, readers_that_wait_for_a_disk_that_fails_are_stuck) {
  Request& reader = start(count_up(0, 2000));
  const auto nobody = [](const Request&) { return false; };
  EXPECT_TRUE(spills_.waiting(nobody).empty());
  compute_next(reader, 6 * 64);
  EXPECT_EQ(spills_.waiting(nobody), std::vector<Request*>{&reader});
  EXPECT_TRUE(spills_.waiting([](const Request&) { return true; }).empty());
  EXPECT_FALSE(spills_.why_stuck(reader, {}).has_value());
  EXPECT_EQ(spills_.why_stuck(reader, resource_exhausted("max_disk", "is full"))->field,
            "max_disk");
  write(reader);
  spills_.lease_more();
  const auto asked = take<wire::LeasePages>();
  spills_.on(wire::PagesLeased{asked.at(0).job, {}, Error{ErrorCode::kIo, "kv", "failed"}});
  EXPECT_EQ(spills_.why_stuck(reader, {})->code, ErrorCode::kIo);
  spills_.lease_more();  // not at once again
  EXPECT_TRUE(take<wire::LeasePages>().empty());
  clock_.advance_us(3'000'000);
  spills_.lease_more();
  EXPECT_EQ(lease(), 6u);
  EXPECT_FALSE(spills_.error().has_value());
  reader.written_behind = false;
  EXPECT_EQ(spills_.why_stuck(reader, {})->field, "chunks");
}

TEST_F(PageSpillsTest, a_restarted_store_is_asked_again) {
  Request& reader = start(count_up(0, 2000));
  compute_next(reader, 3 * 64);
  write(reader);
  spills_.lease_more();
  const auto lost = take<wire::LeasePages>();
  jobs_.lose(Actor::kStore);
  EXPECT_EQ(lease(), 3u);
  // What the earlier incarnation answers is given up.
  spills_.on(wire::PagesLeased{lost.at(0).job, {90, 91, wire::PagesLeased::kNone}, {}});
  EXPECT_EQ(take<wire::ReleaseLeases>().at(0).leases, (std::vector<uint32_t>{90, 91}));
}

}  // namespace
}  // namespace cascade
