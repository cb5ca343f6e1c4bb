// Every pin is answered: either its pages are on disk, or it is refused with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tests/actors/disk_budget_world.h"

namespace cascade {
namespace {

using testing::ask;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::query_text;
using testing::SchedulerWorld;

class PinReplies : public testing::DiskBudgetWorld {
 protected:
  std::string output_of(const std::string& question) {
    wire::GenerateRequest request = ask({query_text(question)});
    request.retain_output = true;
    return world_->one<wire::Final>(world_->send(request)).output_chunk_id;
  }
  static wire::ChunkUpdate pin_of(const std::string& id) {
    wire::ChunkUpdate update;
    update.id = id;
    update.pinned = true;
    return update;
  }
  // nullopt: the chunk is pinned and on disk.
  std::optional<Error> pin(const std::string& id) {
    const uint64_t number = world_->send(pin_of(id));
    const auto errors = world_->all<wire::ErrorReply>(number);
    const auto replies = world_->all<wire::ChunkReply>(number);
    EXPECT_EQ(errors.size() + replies.size(), 1u) << "it is answered once";
    if (!errors.empty()) {
      EXPECT_FALSE(world_->chunk(id).pinned);
      return errors[0].error;
    }
    if (!replies.empty()) {
      EXPECT_TRUE(replies[0].durable);
      EXPECT_GT(replies[0].chunk.kv_disk_pages, 0);
    }
    return std::nullopt;
  }
};

TEST_F(PinReplies, say_for_each_pin_whether_the_budget_has_room_for_it) {
  start(4);
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(output_of("What is " + std::to_string(i) + "?"));
  for (int i = 0; i < 8; ++i) {
    const std::optional<Error> refused = pin(ids[static_cast<size_t>(i)]);
    ASSERT_EQ(refused.has_value(), i >= 4) << i;
    if (!refused) continue;
    EXPECT_EQ(refused->code, ErrorCode::kResourceExhausted);
    EXPECT_EQ(refused->field, "pinned");
    EXPECT_THAT(refused->message, HasSubstr("more do not fit"));
    EXPECT_EQ(world_->chunk(ids[static_cast<size_t>(i)]).kv_state, KvState::kReady);
  }
  start(4);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(world_->chunk(ids[i]).pinned);
    EXPECT_EQ(world_->chunk(ids[i]).kv_state, KvState::kReady);
  }
}

TEST_F(PinReplies, of_one_that_does_not_fit_hold_up_no_other) {
  start(2);
  std::string long_question = "Tell me of";
  for (int i = 0; i < 80; ++i) long_question += " town " + std::to_string(i);
  const std::string large = output_of(long_question + "?");
  const std::string small = output_of("What is 1 + 1?");
  ASSERT_GT(world_->chunk(large).kv_tokens, 2 * kPageTokens);
  EXPECT_TRUE(pin(large).has_value());
  EXPECT_FALSE(pin(small).has_value());
  EXPECT_TRUE(pin(large).has_value());
}

TEST_F(PinReplies, are_errors_while_the_disk_cannot_be_written_to) {
  start(10);
  bool fails = true;
  world_->tamper = [&](wire::Message& answer) {
    auto* done = std::get_if<wire::StorePagesDone>(&answer);
    if (done != nullptr && fails) done->error = Error{ErrorCode::kIo, "kv", "no luck"};
  };
  const std::string first = output_of("What is 1 + 1?");
  const std::string second = output_of("What is 2 + 2?");
  for (const std::string& id : {second, first}) {
    const std::optional<Error> refused = pin(id);
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->code, ErrorCode::kIo);
    EXPECT_THAT(refused->message, HasSubstr("no luck"));
  }
  fails = false;
  EXPECT_FALSE(pin(second).has_value());
  EXPECT_FALSE(pin(first).has_value());
}

// The client waits for pages that the store is about to write.
class WaitingPin : public PinReplies {
 protected:
  void SetUp() override {
    start(10);
    id_ = output_of("What is 1 + 1?");
    ASSERT_EQ(world_->chunk(id_).kv_disk_pages, 1);
    const Digest page = *Digest::from_hex(world_->chunk(id_).kv_key);
    ASSERT_TRUE(store_->kv().remove(std::array{page}).ok());
    wire::PagesForgotten forgotten;
    forgotten.keys.push_back(page.hex());
    world_->core().on_answer(forgotten);
    world_->store_at_once = false;
    pin_ = world_->post(pin_of(id_));
    EXPECT_TRUE(answers().empty());
  }
  // "pinned", or the code of the error.
  std::vector<std::string> answers() {
    std::vector<std::string> all;
    for (const auto& reply : world_->all<wire::ChunkReply>(pin_)) {
      all.emplace_back(reply.chunk.pinned ? "pinned" : "not pinned");
    }
    for (const auto& error : world_->all<wire::ErrorReply>(pin_)) {
      all.emplace_back(to_string(error.error.code));
    }
    return all;
  }

  std::string id_;
  uint64_t pin_ = 0;
};

TEST_F(WaitingPin, is_answered_when_its_pages_are_written) {
  world_->pump();
  EXPECT_THAT(answers(), ElementsAre("pinned"));
  EXPECT_EQ(world_->chunk(id_).kv_disk_pages, 1);
}

TEST_F(WaitingPin, is_answered_after_a_restart_of_the_store) {
  world_->restart(testing::Actor::kStore);
  world_->pump();
  tick(3'000'000);
  EXPECT_THAT(answers(), ElementsAre("pinned"));
}

TEST_F(WaitingPin, is_refused_when_the_daemon_stops) {
  world_->core().stop();
  world_->pump();
  EXPECT_THAT(answers(), ElementsAre("unavailable"));
}

TEST_F(WaitingPin, is_refused_when_the_chunk_is_unpinned) {
  wire::ChunkUpdate unpin = pin_of(id_);
  unpin.pinned = false;
  world_->send(unpin);
  tick(1000);
  EXPECT_THAT(answers(), ElementsAre("conflict"));
}

TEST_F(WaitingPin, is_refused_when_the_chunk_is_unpinned_and_deleted) {
  wire::ChunkUpdate unpin = pin_of(id_);
  unpin.pinned = false;
  world_->post(unpin);
  world_->send(wire::ChunkDelete{id_, {}, true});
  tick(1000);
  EXPECT_THAT(answers(), ElementsAre("not_found"));
}

TEST_F(WaitingPin, that_is_refused_takes_the_chunk_along_whose_time_is_over_meanwhile) {
  wire::ChunkUpdate ends;
  ends.id = id_;
  ends.ttl_ms = 1;
  world_->post(ends);
  world_->post(pin_of(id_));  // a second waiting request is told, too
  world_->clock.advance_us(2000);
  world_->core().on_tick();
  world_->tamper = [&](wire::Message& answer) {
    auto* done = std::get_if<wire::StorePagesDone>(&answer);
    if (done != nullptr) done->error = Error{ErrorCode::kIo, "kv", "no luck"};
  };
  world_->pump();
  EXPECT_THAT(world_->error(pin_).message, HasSubstr("so the chunk was deleted"));
  EXPECT_THAT(world_->error(world_->send(wire::ChunkGet{id_})).message, HasSubstr("has expired"));
}

TEST_F(WaitingPin, is_answered_with_what_ended_by_its_request) {
  wire::ChunkUpdate change;
  change.id = id_;
  change.name = "best";
  world_->post(change);
  change.name = "";
  change.pinned = true;
  const uint64_t waits = world_->post(change);
  EXPECT_TRUE(world_->all<wire::ChunkReply>(waits).empty());
  world_->pump();
  const auto reply = world_->one<wire::ChunkReply>(waits);
  ASSERT_EQ(reply.ended.size(), 1u);
  EXPECT_EQ(reply.ended[0].label, "best");
}

// The conversation begins with a published system prompt, whose public pages the disk has lost.
TEST_F(PinReplies, come_with_the_public_pages_that_the_chain_begins_with) {
  start(100);
  const std::string system = publish(town_rules());
  const auto request = ask_for_town({ChunkType::kSystemPrompt, system, ""});
  const std::string id =
      world_->one<wire::Final>(world_->send_as("guest", request)).output_chunk_id;
  wire::PagesForgotten forgotten;
  std::vector<Digest> lost;
  const auto pages = store_->kv().pages(testing::demo_model().root_key(""));
  ASSERT_TRUE(pages.ok());
  for (const StoredPage& page : *pages) {
    if (!page.header.tenant.empty()) continue;
    lost.push_back(page.header.key);
    forgotten.keys.push_back(page.header.key.hex());
  }
  ASSERT_GE(lost.size(), 2u);
  ASSERT_TRUE(store_->kv().remove(lost).ok());
  world_->core().on_answer(forgotten);
  world_->one<wire::ChunkReply>(world_->send_as("guest", pin_of(id)));
  for (size_t i = 0; i + 1 < lost.size(); ++i) {
    EXPECT_TRUE(store_->kv().find(lost[i])->has_value()) << i;
  }
}

// The pages of one pin had no room in memory for a while, and were evicted.
TEST_F(PinReplies, keep_their_promise_when_there_is_room_again) {
  start(100);
  std::vector<std::string> ids = {output_of("What is 1 + 1?"), output_of("What is 2 + 2?")};
  for (const std::string& id : ids) ASSERT_FALSE(pin(id).has_value());
  constexpr size_t kMemoryPages = 16;
  start(100, kMemoryPages, 1.5 / kMemoryPages);
  std::string long_question = "Tell me of";
  for (int i = 0; i < 70; ++i) long_question += " town " + std::to_string(i);
  for (int i = 0; i < 3; ++i) output_of(std::to_string(i) + long_question + "?");
  tick(3'000'000);
  int ready = 0;
  for (const std::string& id : ids) {
    EXPECT_TRUE(world_->chunk(id).pinned);
    EXPECT_NE(world_->chunk(id).kv_state, KvState::kNone);
    ready += world_->chunk(id).kv_state == KvState::kReady;
  }
  EXPECT_EQ(ready, 1);
  const bool first = world_->chunk(ids[0]).kv_state == KvState::kReady;
  wire::ChunkUpdate unpin = pin_of(first ? ids[0] : ids[1]);
  unpin.pinned = false;
  world_->send(unpin);
  tick(3'000'000);
  EXPECT_EQ(world_->chunk(first ? ids[1] : ids[0]).kv_state, KvState::kReady);
}

}  // namespace
}  // namespace cascade
