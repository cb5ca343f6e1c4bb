// Pins of contexts outlive the daemon: their pages are on disk, stay there, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/actors/disk_budget_world.h"

namespace cascade {
namespace {

using testing::ask;
using ::testing::HasSubstr;
using testing::kStateDir;
using testing::query_text;
using testing::SchedulerWorld;

constexpr char kQuestion[] = "Which of these is first?";

std::string facts_of(const std::string& name, int count = 36) {
  std::string text = "About " + name + ":";
  for (int i = 0; i < count; ++i) text += " " + name + " has town " + std::to_string(i) + ".";
  return text;
}

class PinnedContexts : public testing::DiskBudgetWorld {
 protected:
  void start_with_room() { start(1000); }
  std::string put(const std::string& text, bool pinned = false) {
    wire::ChunkPut put{ChunkType::kContext, text};
    if (pinned) put.pinned = true;
    return world_->one<wire::ChunkReply>(world_->send(put)).chunk.id;
  }
  // The error; nullopt: the context has been pinned or unpinned.
  std::optional<Error> pin(const std::string& id, bool pinned = true) {
    wire::ChunkUpdate update;
    update.id = id;
    update.pinned = pinned;
    const uint64_t number = world_->send(update);
    const auto errors = world_->all<wire::ErrorReply>(number);
    EXPECT_EQ(errors.size() + world_->all<wire::ChunkReply>(number).size(), 1u);
    if (!errors.empty()) return errors[0].error;
    return std::nullopt;
  }
  wire::Final ask_about(const std::string& id, const std::string& question = kQuestion,
                        bool retain = true) {
    wire::GenerateRequest request = ask({{ChunkType::kContext, id, ""}, query_text(question)});
    request.max_tokens = 4;
    request.retain_output = retain;
    return world_->one<wire::Final>(world_->send(request));
  }
  // Retains outputs of `count` other conversations, which fill every place that they may take.
  void ask_of_others(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "Land" + std::to_string(++others_);
      wire::GenerateRequest request = ask({query_text(facts_of(name) + " Which is first?")});
      request.max_tokens = 4;
      request.retain_output = true;
      world_->one<wire::Final>(world_->send(request));
    }
  }
  // Lets enough time pass for a tick to try again.
  void wait() { tick(3'000'000); }

  int others_ = 0;
};

TEST_F(PinnedContexts, are_on_disk_when_the_pin_is_answered) {
  start_with_room();
  const std::string id = put(facts_of("Peru"));
  const wire::Final answer = ask_about(id);
  ASSERT_FALSE(pin(id).has_value());
  const Chunk pinned = world_->chunk(id);
  EXPECT_EQ(pinned.kv_state, KvState::kReady);
  EXPECT_GE(pinned.kv_disk_pages, answer.usage.prompt_tokens / kPageTokens);
}

TEST_F(PinnedContexts, are_ready_after_a_kill_and_are_reused) {
  for (const bool put_first : {true, false}) {
    start_with_room();
    const std::string id = put(facts_of(put_first ? "Peru" : "Chile"), put_first);
    const int64_t tokens = std::ssize(world_->chunk(id).token_ids);
    ask_about(id);
    if (!put_first) {
      ASSERT_FALSE(pin(id).has_value());
    }
    start_with_room();
    EXPECT_TRUE(world_->chunk(id).pinned);
    EXPECT_EQ(world_->chunk(id).kv_state, KvState::kReady);
    EXPECT_GT(ask_about(id, kQuestion, false).usage.reused_tokens, tokens - kPageTokens);
    ASSERT_FALSE(pin(id, false).has_value());
  }
}

TEST_F(PinnedContexts, stay_on_disk_when_others_need_their_places) {
  for (const bool retain : {true, false}) {
    start(24, 60);
    const std::string id = put(facts_of(retain ? "Peru" : "Chile"));
    ask_about(id, kQuestion, retain);
    ASSERT_FALSE(pin(id).has_value());
    ask_of_others(6);
    start(24, 60);
    EXPECT_EQ(world_->chunk(id).kv_state, KvState::kReady);
    const wire::Final again = ask_about(id, kQuestion, false);
    EXPECT_GT(again.usage.reused_tokens, std::ssize(world_->chunk(id).token_ids));
    ASSERT_FALSE(pin(id, false).has_value());
  }
}

TEST_F(PinnedContexts, that_do_not_fit_are_refused_with_what_is_missing) {
  start(1000, 100, 0.08);  // 8 pages
  const std::string first = put(facts_of("Peru"));
  const std::string second = put(facts_of("Chile"));
  ask_about(first);
  ask_about(second);
  ASSERT_FALSE(pin(first).has_value());
  const auto pinned = testing::cache_stats(*world_).pages_pinned;
  ASSERT_GT(pinned, 4);
  const std::optional<Error> refused = pin(second);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused->field, "pinned");
  EXPECT_THAT(refused->message, HasSubstr("8 (the daemon's --max-pinned)"));
  EXPECT_FALSE(world_->chunk(second).pinned);
  EXPECT_EQ(testing::cache_stats(*world_).pages_pinned, pinned);
}

TEST_F(PinnedContexts, that_the_disk_has_no_room_for_are_refused) {
  start(4);
  const std::string id = put(facts_of("Peru"));
  ask_about(id);
  const std::optional<Error> refused = pin(id);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused->message, HasSubstr("more do not fit"));
  EXPECT_FALSE(world_->chunk(id).pinned);
  EXPECT_EQ(testing::cache_stats(*world_).pages_pinned, 0);
}

TEST_F(PinnedContexts, without_room_in_memory_are_pending_until_there_is_some) {
  start(1000, 100, 0.08);  // 8 pages
  const std::string first = put(facts_of("Peru"), /*pinned=*/true);
  const std::string second = put(facts_of("Chile"), /*pinned=*/true);
  ask_about(first);
  ask_about(second);
  EXPECT_EQ(world_->chunk(first).kv_state, KvState::kReady);
  EXPECT_EQ(world_->chunk(second).kv_state, KvState::kPending);
  EXPECT_EQ(world_->status().warnings.size(), 1u);
  ASSERT_FALSE(pin(first, false).has_value());
  wait();
  EXPECT_EQ(world_->chunk(second).kv_state, KvState::kReady);
  EXPECT_TRUE(world_->status().warnings.empty());
  wait();
  start(1000, 100, 0.08);
  EXPECT_EQ(world_->chunk(second).kv_state, KvState::kReady);
}

TEST_F(PinnedContexts, whose_pages_are_damaged_are_computed_again) {
  start_with_room();
  const std::string id = put(facts_of("Peru"));
  ask_about(id);
  ASSERT_FALSE(pin(id).has_value());
  const int64_t before = testing::cache_stats(*world_).pages_pinned;
  stop();
  disk_.bytes(kStateDir + std::string("/kv/00000001.kv"))[3 * 4096 + 100] ^= 1;
  start_with_room();
  EXPECT_EQ(world_->chunk(id).kv_state, KvState::kReady);
  EXPECT_EQ(testing::cache_stats(*world_).pages_pinned, before);
  wait();
  wait();
  const auto pages = world_->chunk(id).kv_disk_pages;
  EXPECT_GE(pages, before - 1) << "they are written again";
}

TEST_F(PinnedContexts, outlive_a_delete_after_their_database_was_made_anew) {
  for (const bool damaged : {false, true}) {
    SCOPED_TRACE(damaged);
    start_with_room();
    const std::string other = put(facts_of("Chile", 4));
    ask_about(other, kQuestion, false);
    const std::string id = put(facts_of("Peru"));
    ask_about(id, kQuestion, false);
    ASSERT_FALSE(pin(id).has_value());
    stop();
    if (damaged) disk_.bytes(std::string(kStateDir) + "/metadata.db").back() ^= 1;
    rebuild_ = true;
    start_with_room();
    EXPECT_EQ(world_->chunk(id).kv_state, KvState::kReady);
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{other}));
    start_with_room();  // a kill at once
    EXPECT_EQ(world_->chunk(id).kv_state, KvState::kReady);
    EXPECT_GT(ask_about(id, kQuestion, false).usage.reused_tokens,
              std::ssize(world_->chunk(id).token_ids));
    ASSERT_FALSE(pin(id, false).has_value());
  }
}

TEST_F(PinnedContexts, of_every_prompt_come_back) {
  start_with_room();
  const std::string id = put(facts_of("Peru"), /*pinned=*/true);
  ask_about(id);
  wire::GenerateRequest request = ask({testing::system_text(testing::kGeographer),
                                       {ChunkType::kContext, id, ""},
                                       query_text(kQuestion)});
  request.max_tokens = 4;
  world_->one<wire::Final>(world_->send(request));
  const int64_t pinned = testing::cache_stats(*world_).pages_pinned;
  ASSERT_GE(pinned, 10);
  start_with_room();
  EXPECT_EQ(testing::cache_stats(*world_).pages_pinned, pinned);
  EXPECT_EQ(testing::cache_stats(*world_).pages_pin_promised, 0);
}

TEST_F(PinnedContexts, of_several_prompts_are_answered_at_once_and_all_come_back) {
  start_with_room();
  const std::string id = put(facts_of("Peru", 4));
  const auto asked = [&](const std::string& system) {
    wire::GenerateRequest request =
        ask({testing::system_text(system), {ChunkType::kContext, id, ""}, query_text(kQuestion)});
    request.max_tokens = 4;
    return world_->one<wire::Final>(world_->send(request)).usage.reused_tokens;
  };
  // The prompts diverge before the text, in the page in which the text begins.
  const std::vector<std::string> systems = {"First one.", "Another one.", "You are kind."};
  for (const std::string& system : systems) asked(system);
  ASSERT_FALSE(pin(id).has_value());
  start_with_room();
  EXPECT_EQ(testing::cache_stats(*world_).pages_pin_promised, 0);
  for (const std::string& system : systems) {
    EXPECT_GE(asked(system), std::ssize(world_->chunk(id).token_ids)) << system;
  }
}

TEST_F(PinnedContexts, that_are_pinned_together_are_answered_all) {
  start_with_room();
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(put(facts_of("Land" + std::to_string(i), 6)));
    ask_about(ids.back(), kQuestion, /*retain=*/i % 2 == 0);
  }
  std::vector<uint64_t> pins;
  for (const std::string& id : ids) {
    wire::ChunkUpdate update;
    update.id = id;
    update.pinned = true;
    pins.push_back(world_->post(update));
  }
  world_->pump();
  wait();
  for (const uint64_t number : pins) {
    EXPECT_TRUE(world_->one<wire::ChunkReply>(number).chunk.pinned);
  }
}

// The disk has no room for another prompt of a context whose pin was answered.
TEST_F(PinnedContexts, stay_pinned_when_they_are_pinned_again) {
  start(8);
  const std::string id = put(facts_of("Peru", 4));
  ask_about(id, kQuestion, /*retain=*/false);
  ASSERT_FALSE(pin(id).has_value());
  wire::GenerateRequest request = ask({testing::system_text(facts_of("Chile", 60)),
                                       {ChunkType::kContext, id, ""},
                                       query_text(kQuestion)});
  request.max_tokens = 4;
  world_->one<wire::Final>(world_->send(request));
  ASSERT_FALSE(pin(id).has_value());
  EXPECT_TRUE(world_->chunk(id).pinned);
  wire::ChunkPut again{ChunkType::kContext, facts_of("Peru", 4)};
  again.name = "mine";
  again.pinned = true;
  world_->one<wire::ChunkReply>(world_->send(again));
  EXPECT_EQ(world_->chunk(id).kv_state, KvState::kReady);
}

// A request is carried out as a whole, or not at all.
TEST_F(PinnedContexts, that_are_refused_are_as_they_were_before_the_request) {
  start(4);
  const std::string id = put(facts_of("Peru"));
  ask_about(id);
  const Chunk before = world_->chunk(id);
  wire::ChunkUpdate update;
  update.id = id;
  update.name = "best";
  update.pinned = true;
  update.ttl_ms = 1000;
  update.published = true;
  EXPECT_EQ(world_->error(world_->send(update)).field, "pinned");
  EXPECT_EQ(world_->chunk(id).holders, before.holders);
  EXPECT_FALSE(world_->chunk(id).published);
  wire::ChunkPut again{ChunkType::kContext, facts_of("Peru")};
  again.name = "mine";
  again.pinned = true;
  EXPECT_EQ(world_->error(world_->send(again)).field, "pinned");
  EXPECT_EQ(world_->chunk(id).holders, before.holders);
  EXPECT_EQ(world_->chunk(id).registrations, before.registrations);
}

TEST_F(PinnedContexts, leave_nothing_when_they_are_deleted) {
  start_with_room();
  const std::string id = put(facts_of("Peru"));
  ask_about(id, kQuestion, /*retain=*/false);
  ASSERT_FALSE(pin(id).has_value());
  start_with_room();
  ASSERT_FALSE(pin(id, false).has_value());
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{id, "", true}));
  const auto pages = store_->kv().pages(testing::demo_model().root_key(""));
  ASSERT_TRUE(pages.ok());
  for (const StoredPage& page : *pages) EXPECT_EQ(page.header.position, 0);
  EXPECT_LE(pages->size(), 1u);
  const std::string again = put(facts_of("Peru"));
  EXPECT_LT(ask_about(again).usage.reused_tokens, kPageTokens);
}

// The text before them in a prompt is deleted, so this prompt cannot be asked again.
TEST_F(PinnedContexts, do_not_keep_a_prompt_with_a_text_that_is_deleted) {
  for (const bool ends_in_one_page : {false, true}) {
    start_with_room();
    const std::string name = ends_in_one_page ? "Peru" : "Chile";
    const size_t before = store_->kv().pages(testing::demo_model().root_key(""))->size();
    const std::string gone = put(facts_of(name, ends_in_one_page ? 2 : 30));
    const std::string kept = put(facts_of(name + "land", ends_in_one_page ? 1 : 20));
    wire::GenerateRequest request = ask(
        {{ChunkType::kContext, gone, ""}, {ChunkType::kContext, kept, ""}, query_text(kQuestion)});
    request.max_tokens = 4;
    world_->one<wire::Final>(world_->send(request));
    ASSERT_FALSE(pin(kept).has_value());
    EXPECT_EQ(world_->chunk(kept).kv_state, KvState::kReady);
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{gone, "", true}));
    EXPECT_TRUE(world_->chunk(kept).pinned);
    EXPECT_EQ(world_->chunk(kept).kv_state, KvState::kNone);
    EXPECT_EQ(testing::cache_stats(*world_).pages_pinned, 0);
    EXPECT_LE(store_->kv().pages(testing::demo_model().root_key(""))->size(), before + 1);
    ask_about(kept);
    EXPECT_EQ(world_->chunk(kept).kv_state, KvState::kReady);
    ASSERT_FALSE(pin(kept, false).has_value());
  }
}

TEST_F(PinnedContexts, have_no_more_on_disk_than_their_prompts_up_to_the_texts_end) {
  start_with_room();
  const std::string id = put(facts_of("Peru"));
  wire::GenerateRequest request = ask({{ChunkType::kContext, id, ""}, query_text("Blue zebra?")});
  request.max_tokens = 4;
  world_->one<wire::Final>(world_->send(request));
  ASSERT_FALSE(pin(id).has_value());
  const auto zebra =
      world_->one<wire::TokenizeReply>(world_->send(wire::TokenizeRequest{" zebra"})).token_ids;
  const auto pages = store_->kv().pages(testing::demo_model().root_key(""));
  ASSERT_TRUE(pages.ok());
  ASSERT_FALSE(pages->empty());
  for (const StoredPage& page : *pages) {
    const auto& ids = page.header.token_ids;
    EXPECT_EQ(std::search(ids.begin(), ids.end(), zebra.begin(), zebra.end()), ids.end());
  }
}

}  // namespace
}  // namespace cascade
