// Every reply says what was reused, what was computed, and why.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

const char* const kOneWordSystem =
    "You are a helpful assistant. You answer in one word where one word is enough, and you never "
    "say that you are a model. If somebody asks for a number, give the number alone, without a "
    "unit. If somebody asks for a name, give the name alone, without a title of any kind.";

wire::GenerateRequest one_word_question(const std::string& text) {
  auto request = ask({system_text(kOneWordSystem), query_text(text)});
  request.max_tokens = 4;
  return request;
}

class Explained : public ::testing::Test {
 protected:
  wire::Usage usage(const wire::GenerateRequest& request, const std::string& tenant = "local") {
    const auto final = world_.one<wire::Final>(world_.send_as(tenant, request));
    EXPECT_EQ(final.usage.reused_tokens + final.usage.prefilled_tokens, final.usage.prompt_tokens);
    if (final.usage.miss.reason != MissReason::kNone) {
      EXPECT_EQ(final.usage.miss.position, final.usage.reused_tokens);
    }
    return final.usage;
  }

  SchedulerWorld world_;
};

TEST_F(Explained, the_first_prompt_is_new_and_the_second_needs_nothing) {
  EXPECT_EQ(usage(one_word_question("Who?")).miss, (Miss{MissReason::kNew, 0}));
  const wire::Usage again = usage(one_word_question("Who?"));
  EXPECT_EQ(again.miss.reason, MissReason::kNone);
  EXPECT_EQ(again.prefilled_tokens, 1);
}

TEST_F(Explained, another_question_differs_at_its_first_token) {
  const auto first = world_.one<wire::Final>(world_.send(one_word_question("Who?")));
  const wire::Usage other = usage(one_word_question("Where?"));
  EXPECT_EQ(other.miss.reason, MissReason::kDiffers);
  const auto who = testing::demo_model().tokenizer.encode("Who", false, false);
  EXPECT_EQ(other.miss.known_token, who->at(0));
  EXPECT_GT(other.reused_tokens, 50);
}

TEST_F(Explained, what_went_with_a_deleted_or_expired_chunk) {
  for (const bool expires : {false, true}) {
    auto request = one_word_question(expires ? "Who?" : "Where?");
    request.retain_output = true;
    if (expires) request.output_ttl_ms = 10'000;
    request.max_tokens = 100;
    const auto first = world_.one<wire::Final>(world_.send(request));
    // A conversation that went on from the output, and is not retained, is removed with the output.
    world_.one<wire::Final>(
        world_.send(ask({system_text(kOneWordSystem), testing::output_ref(first.output_chunk_id),
                         query_text("Why?")})));
    if (!expires) world_.send(wire::ChunkDelete{first.output_chunk_id});
    world_.clock.advance_us(60'000'000);
    world_.core().on_tick();
    // The conversation continues, as messages.
    wire::GenerateRequest next = ask({});
    next.messages = {{.role = "system", .content = kOneWordSystem, .reasoning = {}},
                     {.role = "user", .content = request.chunks[1].text, .reasoning = {}},
                     {.role = "assistant", .content = first.text, .reasoning = {}},
                     {.role = "user", .content = "Why so?", .reasoning = {}}};
    EXPECT_EQ(usage(next).miss.reason, expires ? MissReason::kExpired : MissReason::kDeleted);
  }
}

TEST_F(Explained, with_a_system_prompt_go_the_conversations_that_begin_with_it) {
  const Chunk system = world_
                           .one<wire::ChunkReply>(world_.send(
                               wire::ChunkPut{ChunkType::kSystemPrompt, kOneWordSystem}))
                           .chunk;
  auto kept = one_word_question("Who?");
  kept.retain_output = true;
  usage(kept);
  usage(one_word_question("Where?"));
  world_.send(wire::ChunkDelete{system.id});
  // A retained output stays, and so does its beginning.
  EXPECT_EQ(usage(one_word_question("Who?")).miss.reason, MissReason::kNone);
  EXPECT_EQ(usage(one_word_question("Where?")).miss.reason, MissReason::kDeleted);
}

TEST_F(Explained, what_made_room_for_others_was_evicted) {
  SchedulerWorld small({}, 20);
  const auto ask_in = [&](const std::string& text) {
    auto request = ask({query_text(text)});
    request.max_tokens = 1;
    return small.one<wire::Final>(small.send(request)).usage;
  };
  std::string book;
  for (int i = 0; i < 90; ++i) book += "The " + std::to_string(i) + "th page is empty. ";
  EXPECT_EQ(ask_in("A" + book).miss.reason, MissReason::kNew);
  for (const char* title : {"B", "C"}) {
    EXPECT_EQ(ask_in(title + book).miss.reason, MissReason::kDiffers);
  }
  EXPECT_EQ(ask_in("A" + book).miss.reason, MissReason::kEvicted);
}

TEST_F(Explained, what_another_tenant_has_is_told_to_nobody) {
  EXPECT_EQ(usage(one_word_question("Who?"), "alice").miss, (Miss{MissReason::kNew, 0}));
  EXPECT_EQ(usage(one_word_question("Who?"), "bob").miss, (Miss{MissReason::kNew, 0}));
  EXPECT_EQ(usage(one_word_question("Who?"), kLocalTenant).miss, (Miss{MissReason::kNew, 0}))
      << "every member of the group that may connect can be this one";
}

TEST_F(Explained, without_reuse_the_same_bits_are_computed_again) {
  auto request = one_word_question("Who?");
  const auto first = world_.one<wire::Final>(world_.send(request));
  request.reuse = false;
  const auto again = world_.one<wire::Final>(world_.send(request));
  EXPECT_EQ(again.usage.miss, (Miss{MissReason::kReuseOff, 0}));
  EXPECT_EQ(again.usage.reused_tokens, 0);
  EXPECT_EQ(again.usage.prefilled_tokens, again.usage.prompt_tokens);
  EXPECT_EQ(again.token_ids, first.token_ids);
  EXPECT_EQ(std::memcmp(again.logprobs.data(), first.logprobs.data(),
                        first.logprobs.size() * sizeof(float)),
            0);
  request.reuse = true;
  EXPECT_EQ(usage(request).prefilled_tokens, 1);
}

}  // namespace
}  // namespace cascade
