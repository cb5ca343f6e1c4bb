// Jobs whose pages are partly on disk: the bits of jobs with all pages in memory, or an answer that
// says which page is lost.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <memory>

#include "actors/engine.h"
#include "actors/job_pages.h"
#include "actors/store_actor.h"
#include "cache/chain_key.h"
#include "model/read_buffer.h"
#include "tests/actors/scheduler_world.h"
#include "tests/failing_file_calls.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::demo_model;
using testing::FailingFileCalls;
using testing::MemoryDisk;
using testing::ok;

constexpr uint32_t kChainPages = 4;
constexpr int64_t kPromptTokens = 200;  // three pages and a part
constexpr size_t kArenaPages = 16;
const std::string kKvFile = "/state/kv/00000001.kv";

std::vector<int32_t> prompt_tokens() {
  std::vector<int32_t> tokens;
  Random random(7);
  for (int64_t i = 0; i < kPromptTokens; ++i) {
    tokens.push_back(static_cast<int32_t>(random.below(demo_model().config.vocab_size)));
  }
  return tokens;
}

// An engine and a store with a prompt whose first three pages are stored and leased.
class LeasedWorld {
 public:
  explicit LeasedWorld(FileCalls* reader_calls = nullptr)
      : arena_(*PageArena::create(demo_model().kv_layout.page_bytes(), kArenaPages)),
        store_(testing::open_store(disk)),
        files_(reader_calls != nullptr ? *reader_calls : disk, "/state/kv", store_->kv().leases(),
               1),
        engine_(demo_model(), arena_, pool_, GrammarCache::kMemoryMax, &files_),
        actor_(*store_, arena_, demo_model().kv_layout, clock_) {
    for (uint32_t i = 0; i < kChainPages; ++i) pages.push_back(i);
    first = run_prefill(engine_, prefill_job());
    store_pages();
  }

  wire::PrefillJob prefill_job() const {
    wire::PrefillJob job;
    job.job = 1;
    job.token_ids = prompt_tokens();
    job.pages = pages;
    job.sample = wire::SampleSpec{};
    return job;
  }

  // The last slice of the prompt again, in pages of its own: the tokens of the fourth page.
  wire::PrefillJob last_slice(std::vector<uint32_t> of_chain) const {
    wire::PrefillJob job = prefill_job();
    job.position = 192;
    job.token_ids.erase(job.token_ids.begin(), job.token_ids.begin() + 192);
    job.pages = std::move(of_chain);
    return job;
  }

  static wire::DecodeSequence decode_of(uint64_t handle, int32_t token,
                                        std::vector<uint32_t> of_chain) {
    wire::DecodeSequence sequence;
    sequence.sequence = handle;
    sequence.token = token;
    sequence.position = kPromptTokens;
    sequence.steps_max = 12;
    sequence.pages = std::move(of_chain);
    return sequence;
  }

  // The chain with pages 0 to 2 leased and `last` as the fourth page.
  std::vector<uint32_t> leased_chain(uint32_t last) const {
    std::vector<uint32_t> chain;
    for (const uint32_t lease : leases) chain.push_back(wire::kLeasedPage | lease);
    chain.push_back(last);
    return chain;
  }

  std::string page_bytes(uint32_t page) const {
    return std::string(reinterpret_cast<const char*>(arena_.data(page)), arena_.page_bytes());
  }

  void flip_bit_of_page(size_t page) {
    const auto leased = store_->kv().leases().find(leases[page]);
    disk.bytes(kKvFile)[leased->offset + 5] ^= 4;
  }

  template <class M>
  M ask(wire::Message message) {
    std::optional<M> answer;
    actor_.handle({std::move(message)}, [&](const wire::Message& sent) {
      if (const auto* typed = std::get_if<M>(&sent)) answer = *typed;
    });
    EXPECT_TRUE(answer.has_value());
    return answer.value_or(M{});
  }

  MemoryDisk disk;
  std::vector<uint32_t> pages;
  std::vector<std::string> keys;
  std::vector<uint32_t> leases;
  wire::PrefillDone first;
  Engine& engine() { return engine_; }
  Store& store() { return *store_; }

 private:
  void store_pages() {
    const std::vector<int32_t> tokens = prompt_tokens();
    wire::StorePages message;
    message.job = 1;
    message.model = testing::model_digest().hex();
    message.parent = message.model;
    Digest parent = testing::model_digest();
    for (uint32_t page = 0; page < 3; ++page) {
      const auto ids = std::span(tokens).subspan(page * 64, 64);
      parent = chain_key(parent, nullptr, ids);
      keys.push_back(parent.hex());
      message.pages.push_back({keys.back(), {ids.begin(), ids.end()}, page});
    }
    EXPECT_FALSE(ask<wire::StorePagesDone>(message).error.has_value());
    const auto leased = ask<wire::PagesLeased>(wire::LeasePages{2, keys});
    EXPECT_FALSE(leased.error.has_value());
    leases = leased.leases;
    EXPECT_EQ(leases.size(), 3u);
  }

  FakeClock clock_;
  ThreadPool pool_{2};
  PageArena arena_;
  std::unique_ptr<Store> store_;
  KvPartFiles files_;
  Engine engine_;
  StoreActor actor_;
};

TEST(LeasedPages, jobs_have_the_bits_of_jobs_with_all_pages_in_memory) {
  LeasedWorld world;
  const wire::PrefillDone done =
      run_prefill(world.engine(), world.last_slice(world.leased_chain(10)));
  EXPECT_FALSE(done.error || done.lost_page);
  // Three pages, each in parts.
  const KvLayout& layout = testing::demo_model().kv_layout;
  EXPECT_EQ(done.read_bytes,
            static_cast<int64_t>(3 * layout.part_count() * layout.parts[0].stride()));
  EXPECT_LE(done.read_us, done.compute_us);
  EXPECT_EQ(world.first.read_bytes, 0);
  EXPECT_EQ(done.token, world.first.token);
  EXPECT_EQ(std::bit_cast<uint32_t>(done.logprob), std::bit_cast<uint32_t>(world.first.logprob));
  EXPECT_EQ(world.page_bytes(10).substr(0, 2000), world.page_bytes(3).substr(0, 2000));
  // Both sequences in one burst: one reads the disk, the other does not.
  wire::DecodeJob job;
  job.steps_max = 12;
  job.sequences = {LeasedWorld::decode_of(1, done.token, world.leased_chain(10)),
                   LeasedWorld::decode_of(2, done.token, world.pages)};
  const wire::DecodeDone decoded = run_decode(world.engine(), job);
  ASSERT_EQ(decoded.sequences.size(), 2u);
  EXPECT_EQ(decoded.sequences[0].token_ids.size(), 12u);
  EXPECT_EQ(decoded.sequences[0].token_ids, decoded.sequences[1].token_ids);
  EXPECT_EQ(decoded.sequences[0].logprobs, decoded.sequences[1].logprobs);
  EXPECT_EQ(world.page_bytes(10), world.page_bytes(3));
}

// Blocks of leased pages, one head of each, are verified by what stands with the indexes.
TEST(LeasedPages, blocks_are_read_alone_and_a_damaged_one_is_named) {
  LeasedWorld world;
  const KvLayout& layout = demo_model().kv_layout;
  const std::vector<uint32_t> index_memory = {12};
  const std::vector<uint32_t> chain = world.leased_chain(10);
  JobPages job(world.engine().arena, layout, world.engine().files, chain, {index_memory, 3});
  const int layer = 1;
  const auto block_of = [&](int32_t number) {
    const int head = number % layout.parts[0].kv_heads;
    return std::span(world.engine().arena.data(world.pages[number / layout.parts[0].kv_heads]) +
                         layout.key_offset(layer, head),
                     layout.parts[0].block_bytes());
  };
  const std::vector<int32_t> numbers = {1, layout.parts[0].kv_heads,
                                        3 * layout.parts[0].kv_heads - 1};
  for (const int32_t number : numbers) {
    const uint64_t checksum = kv_checksum(block_of(number));
    std::memcpy(job.indexes()[number / layout.parts[0].kv_heads] +
                    layout.block_checksum_offset(layer, number % layout.parts[0].kv_heads),
                &checksum, sizeof checksum);
  }
  const ReadBuffer memory(numbers.size() * layout.parts[0].block_stride());
  uint8_t* const to = memory.data();
  ASSERT_TRUE(ok(job.read_blocks(layer, numbers, to)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint8_t* const read = to + i * layout.parts[0].block_stride() +
                                layout.parts[0].block_shift(numbers[i] % layout.parts[0].kv_heads);
    EXPECT_EQ(std::memcmp(read, block_of(numbers[i]).data(), layout.parts[0].block_bytes()), 0)
        << i;
  }
  EXPECT_GT(job.reading().bytes, 0);
  EXPECT_FALSE(job.failed());
  job.indexes()[1][layout.block_checksum_offset(layer, 0)] ^= 1;
  EXPECT_EQ(job.read_blocks(layer, numbers, to).error().code, ErrorCode::kDataCorrupt);
  EXPECT_EQ(job.lost_page(), 1);
}

TEST(LeasedPages, a_damaged_page_is_named_and_nobody_else_is_disturbed) {
  for (const size_t page : {0, 1, 2}) {
    LeasedWorld world;
    world.flip_bit_of_page(page);
    const wire::PrefillDone done =
        run_prefill(world.engine(), world.last_slice(world.leased_chain(10)));
    EXPECT_EQ(done.lost_page, static_cast<int32_t>(page));
    EXPECT_FALSE(done.error.has_value());
    wire::DecodeJob job;
    job.steps_max = 12;
    job.sequences = {LeasedWorld::decode_of(1, world.first.token, world.leased_chain(10)),
                     LeasedWorld::decode_of(2, world.first.token, world.pages)};
    const wire::DecodeDone decoded = run_decode(world.engine(), job);
    EXPECT_FALSE(decoded.error.has_value());
    EXPECT_EQ(decoded.sequences[0].lost_page, static_cast<int32_t>(page));
    EXPECT_TRUE(decoded.sequences[0].token_ids.empty());
    EXPECT_EQ(decoded.sequences[1].token_ids.size(), 12u);
  }
}

TEST(LeasedPages, a_disk_that_fails_ends_the_sequence_with_an_error) {
  MemoryDisk other;
  FailingFileCalls failing(1, /*all_later=*/true, EIO, other);
  LeasedWorld world(&failing);
  const wire::PrefillDone done =
      run_prefill(world.engine(), world.last_slice(world.leased_chain(10)));
  ASSERT_TRUE(done.error.has_value());
  EXPECT_EQ(done.error->code, ErrorCode::kIo);
  EXPECT_FALSE(done.lost_page.has_value());
  wire::DecodeJob job;
  job.steps_max = 2;
  job.sequences = {LeasedWorld::decode_of(1, world.first.token, world.leased_chain(10)),
                   LeasedWorld::decode_of(2, world.first.token, world.pages)};
  const wire::DecodeDone decoded = run_decode(world.engine(), job);
  EXPECT_FALSE(decoded.error.has_value());
  EXPECT_EQ(decoded.sequences[0].error->code, ErrorCode::kIo);
  EXPECT_EQ(decoded.sequences[1].token_ids.size(), 2u);
}

TEST(LeasedPages, are_named_one_by_one_and_released) {
  LeasedWorld world;
  EXPECT_EQ(world.store().kv().leases().count(), 3u);
  const std::string unknown = Digest{}.hex();
  const auto some =
      world.ask<wire::PagesLeased>(wire::LeasePages{3, {world.keys[0], unknown, world.keys[1]}});
  ASSERT_EQ(some.leases.size(), 3u);
  EXPECT_NE(some.leases[0], wire::PagesLeased::kNone);
  EXPECT_EQ(some.leases[1], wire::PagesLeased::kNone);
  EXPECT_NE(some.leases[2], wire::PagesLeased::kNone);
  EXPECT_EQ(world.store().kv().leases().count(), 5u);
  world.ask<wire::PagesLeased>(wire::LeasePages{4, {}});
  EXPECT_EQ(world.store().kv().leases().count(), 5u);
}

}  // namespace
}  // namespace cascade
