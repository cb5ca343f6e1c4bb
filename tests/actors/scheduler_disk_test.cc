// K and V that outlive the process: what is found again, that it has not changed, and what has been
// removed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include <memory>
#include <string>

#include "tests/actors/scheduler_world.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::ask;
using testing::kStateDir;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

// A prompt of more than two pages, since only whole pages are found on disk.
constexpr char kLongSystem[] =
    "You are a helpful assistant that answers questions about countries, capitals, rivers and "
    "mountains in one short sentence, and says so when it does not know the answer to a question. "
    "Do not make up cities that are not there. Do not say more than you were asked for. If the "
    "question is not about geography, say that you would rather talk about geography, and name a "
    "river that is close to where the user is, if that is known, and else the longest one that you "
    "know of. Be polite, do not use words that are hard to understand, and never answer in verse.";

constexpr int64_t kPromptPages = 2;  // whole ones before the first answer

SchedulerOptions keeping_pinned_pages(double max_pinned) {
  SchedulerOptions options;
  options.keep_pages = true;
  options.max_pinned = max_pinned;
  return options;
}

class Disk : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override {
    world_.reset();
    store_.reset();
  }

  void start() {
    auto opened = Store::open(disk_, kStateDir, store_options_);
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    store_ = *std::move(opened);
    world_ = std::make_unique<SchedulerWorld>(keeping_pinned_pages(max_pinned_),
                                              SchedulerWorld::kPages, store_.get());
  }
  // Restarts as after kill -9: the files stay as they are, and nothing is left in memory.
  void restart() {
    world_.reset();
    disk_.kill();
    // Closing the store must not change the disk from here on.
    store_.reset();
    start();
  }
  wire::Final generate(std::vector<wire::ChunkRef> chunks, const std::string& tenant = "local") {
    wire::GenerateRequest request = ask(chunks);
    request.retain_output = true;
    return world_->one<wire::Final>(world_->send_as(tenant, request));
  }
  void pin(const std::string& id, bool pinned) {
    wire::ChunkUpdate update;
    update.id = id;
    update.pinned = pinned;
    ASSERT_TRUE(world_->one<wire::ChunkReply>(world_->send(update)).durable);
  }
  int64_t pages_pinned() {
    return world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{})).cache->pages_pinned;
  }
  // Begins a conversation of two turns. Returns the output of the first.
  std::string first_turn() {
    const wire::Final first =
        generate({system_text(kLongSystem), query_text("Capital of France?")});
    EXPECT_TRUE(first.durable);
    answer_ = first.text;
    EXPECT_EQ(first.usage.prompt_tokens / kPageTokens, kPromptPages);
    return first.output_chunk_id;
  }
  wire::Final second_turn(const std::string& output) {
    return generate({system_text(kLongSystem), output_ref(output), query_text("And of Italy?")});
  }
  // Neither the answer of first_turn() nor its question is found, except in `pages_of_others` pages
  // that others use.
  void expect_no_page_of_it(int64_t pages_of_others = 0) {
    wire::GenerateRequest request = ask({});
    request.messages = {{.role = "system", .content = kLongSystem, .reasoning = {}},
                        {.role = "user", .content = "Capital of France?", .reasoning = {}},
                        {.role = "assistant", .content = answer_, .reasoning = {}},
                        {.role = "user", .content = "And of Italy?", .reasoning = {}}};
    const auto next = world_->one<wire::Final>(world_->send(request));
    EXPECT_EQ(next.usage.reused_tokens, pages_of_others * kPageTokens);
  }
  // Removes the pages at `place` of all chains from the store, which nobody else may be using.
  void remove_pages_at(int64_t place) {
    const auto models = store_->kv().models();
    ASSERT_TRUE(models.ok());
    for (const ModelRecord& model : *models) {
      const auto pages = store_->kv().pages(model.digest);
      ASSERT_TRUE(pages.ok());
      for (const StoredPage& page : *pages) {
        if (page.header.position != place * kPageTokens) continue;
        ASSERT_TRUE(store_->kv().remove(std::array{page.header.key}).ok());
      }
    }
    ASSERT_TRUE(store_->commit().ok());
  }
  wire::DiskStats stats() {
    return world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{}))
        .disk.value_or(wire::DiskStats{});
  }
  static void expect_same(const wire::Final& a, const wire::Final& b) {
    EXPECT_EQ(a.token_ids, b.token_ids);
    EXPECT_EQ(a.logprobs, b.logprobs);
  }

  testing::MemoryDisk disk_;
  StoreOptions store_options_;
  double max_pinned_ = 0.5;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SchedulerWorld> world_;
  std::string answer_;  // of first_turn()
};

TEST_F(Disk, a_conversation_goes_on_after_kill_9_as_if_nothing_had_happened) {
  const std::string output = first_turn();
  const wire::Final expected = second_turn(output);
  ASSERT_GT(expected.usage.reused_tokens, 64);
  EXPECT_EQ(expected.usage.loaded_tokens, 0);
  restart();
  const wire::Final restored = second_turn(output);
  expect_same(restored, expected);
  EXPECT_GE(restored.usage.reused_tokens, expected.usage.reused_tokens);
  EXPECT_EQ(restored.usage.loaded_tokens, restored.usage.reused_tokens);
  EXPECT_GT(stats().pages_loaded, 0);
  EXPECT_EQ(stats().pages_bad, 0);
}

TEST_F(Disk, an_output_that_was_still_to_be_computed_when_the_daemon_died_is_computed) {
  for (const bool pinned : {true, false}) {
    wire::GenerateRequest request =
        ask({system_text(kLongSystem), query_text("Capital of France?")});
    request.retain_output = true;
    request.output_pinned = pinned;
    const uint64_t number = world_->post(request);
    while (world_->all<wire::Final>(number).empty()) ASSERT_EQ(world_->pump(1), 1u);
    const std::string id = world_->one<wire::Final>(number).output_chunk_id;
    // The history is tokenized first. The next job is a slice of the tokens to compute.
    while (world_->jobs_for(testing::Actor::kPrefill) == 0) ASSERT_EQ(world_->pump(1), 1u);
    ASSERT_EQ(world_->pump(1), 1u);
    ASSERT_EQ(world_->status_now().reprefills_pending, 1);
    restart();
    EXPECT_EQ(world_->chunk(id).kv_state, KvState::kReady);
    const wire::Final next = second_turn(id);
    EXPECT_GT(next.usage.reused_tokens, kPromptPages * kPageTokens);
    const Digest model = testing::demo_model().root_key("");
    EXPECT_TRUE(std::ranges::none_of(*store_->chains().load(model), &ChunkChain::pending));
    if (pinned) {
      wire::ChunkUpdate unpin;
      unpin.id = id;
      unpin.pinned = false;
      world_->send(unpin);
    }
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{id}));
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{next.output_chunk_id}));
  }
}

TEST_F(Disk, prompts_with_a_priority_and_prefixes_that_are_kept_are_written) {
  wire::GenerateRequest request = ask({system_text(kLongSystem), query_text("Capital of France?")});
  request.max_tokens = 1;
  world_->one<wire::Final>(world_->send(request));
  EXPECT_EQ(stats().pages, 0) << "asked once, short, and nobody said that it is worth more";
  request.prompt_priority = 80;
  request.prompt_priority_ms = 60'000;
  world_->one<wire::Final>(world_->send(request));
  EXPECT_EQ(stats().pages, kPromptPages);
  wire::PrefixCache prefix;
  prefix.messages = {
      {.role = "system", .content = std::string(kLongSystem) + kLongSystem, .reasoning = {}},
      {.role = "user", .content = "Capital of Italy?", .reasoning = {}}};
  const auto kept = world_->one<wire::PrefixReply>(world_->send(prefix));
  EXPECT_GT(stats().pages, kept.tokens / kPageTokens);
  restart();
  EXPECT_GT(world_->one<wire::PrefixReply>(world_->send(prefix)).reused_tokens, 2 * kPageTokens);
}

TEST_F(Disk, everything_that_was_said_of_a_chunk_is_there_again) {
  const std::string output = first_turn();
  wire::ChunkUpdate update;
  update.id = output;
  update.name = "paris";
  update.pinned = true;
  update.ttl_ms = 3'600'000;
  update.priority = 50;
  update.priority_ms = 1'800'000;
  ASSERT_TRUE(world_->one<wire::ChunkReply>(world_->send(update)).durable);
  const Chunk before = world_->chunk(output);
  restart();
  const Chunk after = world_->chunk(output);
  EXPECT_EQ(after, before);
  EXPECT_EQ(after.kv_state, KvState::kReady);  // pinned: its pages are back before anybody asks
  EXPECT_GT(stats().pages_loaded, 0);
}

TEST_F(Disk, a_damaged_page_is_computed_again) {
  const std::string output = first_turn();
  const wire::Final expected = second_turn(output);
  world_.reset();
  store_.reset();
  for (const std::string& path : disk_.paths()) {
    if (!path.ends_with(".kv")) continue;
    std::vector<uint8_t>& bytes = disk_.bytes(path);
    bytes[4096 + 4096 + 1000] ^= 1;  // of the first page
  }
  start();
  const wire::Final restored = second_turn(output);
  expect_same(restored, expected);
  EXPECT_EQ(restored.usage.loaded_tokens, 0);
  EXPECT_EQ(stats().pages_bad, 1);
  // The page is written again.
  restart();
  EXPECT_GT(second_turn(output).usage.loaded_tokens, 0);
}

TEST_F(Disk, what_was_deleted_is_nowhere_any_more) {
  const std::string output = first_turn();
  ASSERT_GT(stats().pages, 0);
  ASSERT_TRUE(world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{output})).durable);
  EXPECT_EQ(stats().pages, 0);
  restart();
  EXPECT_EQ(stats().pages, 0);
  expect_no_page_of_it();
}

TEST_F(Disk, what_others_go_on_from_stays_when_a_chunk_is_deleted) {
  const std::string first = first_turn();
  const auto other = generate({system_text(kLongSystem), query_text("Capital of Spain?")});
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{first}));
  restart();
  EXPECT_GT(stats().pages, 0);
  const auto again = generate({system_text(kLongSystem), query_text("Capital of Spain?")});
  EXPECT_GE(again.usage.loaded_tokens, kPageTokens);
  expect_same(again, other);
}

TEST_F(Disk, so_is_what_is_deleted_after_a_restart) {
  const std::string output = first_turn();
  ASSERT_GT(stats().pages, 0);
  restart();
  ASSERT_TRUE(world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{output})).durable);
  EXPECT_EQ(stats().pages, 0);
  restart();
  expect_no_page_of_it();
}

// Damage, or the budget of an earlier version, may have removed any of the chunk's pages.
TEST_F(Disk, so_is_what_is_deleted_between_pages_that_are_gone) {
  const std::string output = first_turn();
  const int64_t pages = stats().pages;
  world_.reset();
  remove_pages_at(0);
  remove_pages_at(pages - 1);
  restart();
  ASSERT_EQ(stats().pages, pages - 2);
  ASSERT_GT(stats().pages, 0);
  ASSERT_TRUE(world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{output})).durable);
  EXPECT_EQ(stats().pages, 0);
}

TEST_F(Disk, a_retained_chunk_keeps_the_pages_that_it_stands_on) {
  const std::string first = first_turn();
  const std::string answer = world_->chunk(first).text;
  const wire::Final second = second_turn(first);
  restart();
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{first}));
  restart();
  // The conversation is found by its tokens, also without the name of a chunk.
  wire::GenerateRequest request = ask({});
  request.messages = {{.role = "system", .content = kLongSystem, .reasoning = {}},
                      {.role = "user", .content = "Capital of France?", .reasoning = {}},
                      {.role = "assistant", .content = answer, .reasoning = {}},
                      {.role = "user", .content = "And of Italy?", .reasoning = {}}};
  const auto again = world_->one<wire::Final>(world_->send(request));
  EXPECT_EQ(again.usage.loaded_tokens, (again.usage.prompt_tokens - 1) / 64 * 64);
  expect_same(again, second);
}

TEST_F(Disk, tenants_do_not_find_each_others_pages) {
  generate({system_text(kLongSystem), query_text("Capital of France?")}, "alice");
  restart();
  const auto bob = generate({system_text(kLongSystem), query_text("Capital of France?")}, "bob");
  EXPECT_EQ(bob.usage.loaded_tokens, 0);
  const auto alice =
      generate({system_text(kLongSystem), query_text("Capital of France?")}, "alice");
  EXPECT_GT(alice.usage.loaded_tokens, 0);
  expect_same(alice, bob);
}

TEST_F(Disk, when_it_is_full_generation_goes_on_and_writing_resumes) {
  disk_.set_capacity(600'000);
  const wire::Final first = generate({system_text(kLongSystem), query_text("Capital of France?")});
  EXPECT_FALSE(first.text.empty());
  EXPECT_FALSE(world_->status().warnings.empty());
  disk_.set_capacity(uint64_t{1} << 40);
  world_->clock.advance_us(3'000'000);
  world_->core().on_tick();
  world_->pump();
  EXPECT_TRUE(world_->status().warnings.empty());
  EXPECT_GT(stats().pages_written, 0);
  restart();
  const wire::Final expected = second_turn(first.output_chunk_id);
  EXPECT_GT(expected.usage.loaded_tokens, 0);
}

TEST_F(Disk, beyond_its_budget_the_oldest_pages_go) {
  world_.reset();
  store_.reset();
  store_options_.kv.disk_bytes_max = 8 * (SchedulerWorld::page_bytes() + 4096);
  start();
  for (int i = 0; i < 6; ++i) {
    generate({system_text(kLongSystem), query_text("What is " + std::to_string(i) + " + 1?")});
  }
  EXPECT_GT(stats().pages_removed, 0);
  EXPECT_LE(stats().pages, 8);
  EXPECT_TRUE(world_->status().warnings.empty());
  const int64_t pages = stats().pages;
  restart();
  EXPECT_EQ(stats().pages, pages);
}

TEST_F(Disk, beyond_its_budget_the_pages_of_pinned_chunks_stay) {
  world_.reset();
  store_.reset();
  store_options_.kv.disk_bytes_max = 8 * (SchedulerWorld::page_bytes() + 4096);
  start();
  const std::string pinned = first_turn();
  wire::ChunkUpdate pin;
  pin.id = pinned;
  pin.pinned = true;
  ASSERT_TRUE(world_->one<wire::ChunkReply>(world_->send(pin)).durable);
  for (int i = 0; i < 6; ++i) {
    generate({system_text(kLongSystem), query_text("What is " + std::to_string(i) + " + 1?")});
  }
  ASSERT_GT(stats().pages_removed, 0);
  restart();
  EXPECT_EQ(world_->chunk(pinned).kv_state, KvState::kReady);
  EXPECT_GT(stats().pages_loaded, 0);
}

// Pages that two pins share count once when they are in memory. Until then the pages are promised
// to each of the two pins.
TEST_F(Disk, pins_that_were_acknowledged_stay_after_a_restart) {
  std::vector<std::string> ids;
  for (const char* query : {"Capital of France?", "Capital of Peru?", "Capital of Chile?"}) {
    ids.push_back(generate({system_text(kLongSystem), query_text(query)}).output_chunk_id);
    pin(ids.back(), true);
  }
  const int64_t pinned = pages_pinned();
  max_pinned_ = (static_cast<double>(pinned) + 0.5) / SchedulerWorld::kPages;
  restart();
  for (const std::string& id : ids) EXPECT_TRUE(world_->chunk(id).pinned);
  EXPECT_EQ(pages_pinned(), pinned);
  EXPECT_TRUE(world_->status().warnings.empty());
}

TEST_F(Disk, pins_without_room_stay_pins_and_take_effect_when_there_is_some) {
  std::vector<std::string> ids;
  for (const char* query : {"Capital of France?", "Capital of Peru?"}) {
    ids.push_back(generate({system_text(kLongSystem), query_text(query)}).output_chunk_id);
    pin(ids.back(), true);
  }
  const int64_t both = pages_pinned();
  max_pinned_ = (static_cast<double>(both) - 0.5) / SchedulerWorld::kPages;
  restart();
  for (const std::string& id : ids) EXPECT_TRUE(world_->chunk(id).pinned);
  ASSERT_EQ(world_->status().warnings.size(), 1u);
  EXPECT_NE(world_->status().warnings[0].find("1 pinned chunks can be evicted"), std::string::npos);
  const int64_t one = pages_pinned();
  EXPECT_LT(one, both);
  EXPECT_GT(one, 0);
  pin(ids[0], false);
  world_->core().on_tick();
  world_->pump();
  EXPECT_TRUE(world_->status().warnings.empty());
  EXPECT_EQ(pages_pinned(), one);
  EXPECT_TRUE(world_->chunk(ids[1]).pinned);
}

TEST_F(Disk, a_request_that_is_cancelled_while_its_pages_are_read_ends_when_they_are) {
  const std::string output = first_turn();
  restart();
  world_->store_at_once = false;
  wire::GenerateRequest request =
      ask({system_text(kLongSystem), output_ref(output), query_text("And of Italy?")});
  const uint64_t number = world_->post(request);
  while (world_->jobs_for(testing::Actor::kStore) == 0) ASSERT_EQ(world_->pump(1), 1u);
  const uint64_t cancel = world_->post(wire::CancelRequest{testing::request_id(number)});
  EXPECT_EQ(world_->all<wire::Ack>(cancel).size(), 1u);
  world_->pump();
  EXPECT_EQ(world_->one<wire::Final>(number).finish_reason, "cancelled");
}

TEST_F(Disk, a_restart_of_the_store_while_it_reads_costs_only_time) {
  const std::string output = first_turn();
  const wire::Final expected = second_turn(output);
  restart();
  world_->store_at_once = false;
  wire::GenerateRequest request =
      ask({system_text(kLongSystem), output_ref(output), query_text("And of Italy?")});
  const uint64_t number = world_->post(request);
  while (world_->jobs_for(testing::Actor::kStore) == 0) ASSERT_EQ(world_->pump(1), 1u);
  world_->restart(testing::Actor::kStore);
  world_->pump();
  expect_same(world_->one<wire::Final>(number), expected);
}

TEST_F(Disk, what_was_deleted_while_it_was_read_does_not_stay_in_memory) {
  const std::string output = first_turn();
  restart();
  world_->store_at_once = false;
  wire::GenerateRequest request =
      ask({system_text(kLongSystem), output_ref(output), query_text("And of Italy?")});
  const uint64_t number = world_->post(request);
  bool deleted = false;
  world_->tamper = [&](const wire::Message& answer) {
    const auto* read = std::get_if<wire::LoadPagesDone>(&answer);
    if (read == nullptr || deleted) return;
    deleted = true;
    EXPECT_GT(read->good, kPromptPages);
    world_->post(wire::ChunkDelete{output});
  };
  world_->pump();
  EXPECT_TRUE(deleted);
  world_->one<wire::Final>(number);
  world_->store_at_once = true;
  expect_no_page_of_it();
}

TEST_F(Disk, a_miss_because_of_another_model_is_explained) {
  const std::string output = first_turn();
  world_.reset();
  // The stored pages look as if another model with the same tokenizer had written them.
  const Digest other = Hasher().field("model", "other").finish();
  const Digest own = testing::demo_model().root_key("");
  const auto pages = store_->kv().pages(own);
  ASSERT_TRUE(pages.ok());
  std::vector<Digest> keys;
  for (const StoredPage& page : *pages) keys.push_back(page.header.key);
  const std::vector<int32_t> first = pages->front().header.token_ids;
  ASSERT_TRUE(store_->kv().remove(keys).ok());
  const std::vector<uint8_t> bytes(SchedulerWorld::page_bytes());
  const RunPage page = {Hasher().field("page", 1).finish(), first, bytes.data()};
  const PageRun run = {"local", other, other, 0, bytes.size(), {&page, 1}};
  ASSERT_TRUE(store_->kv().put_model({other, "other", "f32", "f32", 1, 1}).ok());
  ASSERT_TRUE(store_->kv().append(run, 1).ok());
  ASSERT_TRUE(store_->commit().ok());
  restart();
  const auto again = generate({system_text(kLongSystem), query_text("Capital of France?")});
  EXPECT_EQ(again.usage.miss, (Miss{MissReason::kOtherModel, 0}));
  EXPECT_EQ(again.usage.loaded_tokens, 0);
}

TEST_F(Disk, texts_are_searched) {
  const std::string output = first_turn();
  const auto found =
      world_->one<wire::ChunkSearchReply>(world_->send(wire::ChunkSearch{"capital FRANCE", 10}));
  ASSERT_EQ(found.hits.size(), 1u);
  EXPECT_EQ(found.hits[0].id, output);
  EXPECT_EQ(found.hits[0].type, ChunkType::kOutput);
  EXPECT_EQ(world_->error(world_->send(wire::ChunkSearch{std::string(33, ' '), 10})).field,
            "query");
  EXPECT_TRUE(
      world_
          ->one<wire::ChunkSearchReply>(world_->send_as("alice", wire::ChunkSearch{"capital", 10}))
          .hits.empty());
}

}  // namespace
}  // namespace cascade
