// Published chunks: the pages that every tenant finds, and no others.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

const char* const kLibrarySystem =
    "You are the assistant of a library. You answer questions about books, briefly and politely, "
    "and you say so if you do not know a book. You never recommend a book that is out of print.";

class Published : public ::testing::Test {
 protected:
  Chunk publish(const std::string& id, bool published = true) {
    wire::ChunkUpdate update;
    update.id = id;
    update.published = published;
    const Chunk chunk = world_.one<wire::ChunkReply>(world_.send(update)).chunk;
    return chunk;
  }
  wire::Final generate(std::vector<wire::ChunkRef> chunks, const std::string& tenant) {
    auto request = ask(chunks);
    request.max_tokens = 12;
    return world_.one<wire::Final>(world_.send_as(tenant, request));
  }

  SchedulerWorld world_;
};

TEST_F(Published, a_system_prompt_is_computed_once_for_all_tenants) {
  const Chunk system = world_
                           .one<wire::ChunkReply>(world_.send(
                               wire::ChunkPut{ChunkType::kSystemPrompt, kLibrarySystem}))
                           .chunk;
  const std::vector<wire::ChunkRef> chunks = {{ChunkType::kSystemPrompt, system.id, ""},
                                              query_text("What is new?")};
  const auto alone = generate({system_text(kLibrarySystem), query_text("What is new?")}, "alice");
  EXPECT_EQ(alone.usage.reused_tokens, 0);
  publish(system.id);
  const auto bob = generate(chunks, "bob");
  EXPECT_GT(bob.usage.reused_tokens, 40);
  EXPECT_EQ(bob.token_ids, alone.token_ids);
  EXPECT_EQ(
      std::memcmp(bob.logprobs.data(), alone.logprobs.data(), bob.logprobs.size() * sizeof(float)),
      0);
  // The owner's own prompt finds the beginning, too.
  EXPECT_GE(generate(chunks, "local").usage.reused_tokens, bob.usage.reused_tokens);
  publish(system.id, false);
  EXPECT_EQ(
      generate({system_text(kLibrarySystem), query_text("Who?")}, "carol").usage.reused_tokens, 0);
}

TEST_F(Published, an_output_brings_its_conversation_along) {
  auto request = ask({system_text(kLibrarySystem), query_text("What is the capital of France?")});
  request.retain_output = true;
  const auto first = world_.one<wire::Final>(world_.send(request));
  const Chunk output = world_.chunk(first.output_chunk_id);
  ASSERT_EQ(output.kv_state, KvState::kReady);
  publish(output.id);
  const std::vector<wire::ChunkRef> chunks = {system_text(kLibrarySystem),
                                              testing::output_ref(output.id), query_text("Why?")};
  EXPECT_EQ(generate(chunks, "bob").usage.reused_tokens, output.kv_tokens);
}

TEST_F(Published, with_the_chunk_its_pages_go) {
  auto request = ask({system_text(kLibrarySystem), query_text("What is the capital of France?")});
  request.retain_output = true;
  const auto first = world_.one<wire::Final>(world_.send(request));
  publish(first.output_chunk_id);
  const auto pages = [&] {
    return world_.one<wire::StatsReply>(world_.send(wire::StatsRequest{})).cache->pages_used;
  };
  const int64_t before = pages();
  world_.send(wire::ChunkDelete{first.output_chunk_id});
  EXPECT_LT(pages(), before);
  const auto gone = world_.error(
      world_.send_as("bob", ask({system_text(kLibrarySystem),
                                 testing::output_ref(first.output_chunk_id), query_text("Why?")})));
  EXPECT_EQ(gone.code, ErrorCode::kNotFound);
  EXPECT_EQ(
      generate({system_text(kLibrarySystem), query_text("What is the capital of France?")}, "bob")
          .usage.reused_tokens,
      0);
}

TEST_F(Published, what_is_withdrawn_is_found_by_nobody_who_did_not_keep_it) {
  const Chunk system = world_
                           .one<wire::ChunkReply>(world_.send(
                               wire::ChunkPut{ChunkType::kSystemPrompt, kLibrarySystem}))
                           .chunk;
  publish(system.id);
  auto request = ask({system_text(kLibrarySystem), query_text("Who wrote Faust?")});
  request.retain_output = true;
  request.output_pinned = true;
  const auto alice = world_.one<wire::Final>(world_.send_as("alice", request));
  EXPECT_GT(alice.usage.reused_tokens, 40);
  generate({system_text(kLibrarySystem), query_text("Who wrote Hamlet?")}, "alice");
  publish(system.id, false);
  world_.pump();
  for (const char* tenant : {"bob", "carol"}) {
    const auto other =
        generate({system_text(kLibrarySystem), query_text("Who wrote Faust?")}, tenant);
    EXPECT_EQ(other.usage.miss, (Miss{MissReason::kNew, 0})) << tenant;
  }
  // Alice's pinned output was computed again, in pages of her own.
  const auto kept =
      world_.one<wire::ChunkReply>(world_.send_as("alice", wire::ChunkGet{alice.output_chunk_id}));
  EXPECT_EQ(kept.chunk.kv_state, KvState::kReady);
  const auto next = generate({system_text(kLibrarySystem),
                              testing::output_ref(alice.output_chunk_id), query_text("When?")},
                             "alice");
  EXPECT_EQ(next.usage.reused_tokens, kept.chunk.kv_tokens);
}

TEST_F(Published, a_running_request_keeps_public_pages_until_it_ends) {
  const Chunk system = world_
                           .one<wire::ChunkReply>(world_.send(
                               wire::ChunkPut{ChunkType::kSystemPrompt, kLibrarySystem}))
                           .chunk;
  publish(system.id);
  auto request = ask({system_text(kLibrarySystem), query_text("Who wrote Faust?")});
  request.ignore_eos = true;
  const uint64_t running = world_.post(request, "client", "alice");
  for (int i = 0; i < 8; ++i) world_.pump(1);
  wire::ChunkUpdate withdraw;
  withdraw.id = system.id;
  withdraw.published = false;
  world_.post(withdraw);
  world_.pump();
  EXPECT_GT(world_.one<wire::Final>(running).usage.reused_tokens, 40);
  EXPECT_EQ(generate({system_text(kLibrarySystem), query_text("Who?")}, "bob").usage.miss,
            (Miss{MissReason::kNew, 0}));
}

TEST_F(Published, other_published_chunks_keep_their_pages) {
  std::vector<Chunk> systems;
  for (const char* end : {" Today is Monday.", " Today is Tuesday."}) {
    systems.push_back(world_
                          .one<wire::ChunkReply>(world_.send(wire::ChunkPut{
                              ChunkType::kSystemPrompt, std::string(kLibrarySystem) + end}))
                          .chunk);
    publish(systems.back().id);
  }
  publish(systems[0].id, false);
  const auto published = generate({system_text(systems[1].text), query_text("Who?")}, "bob").usage;
  const auto withdrawn =
      generate({system_text(systems[0].text), query_text("Who?")}, "carol").usage;
  // The two system prompts have their beginning in common.
  EXPECT_GT(withdrawn.reused_tokens, 40);
  EXPECT_GT(published.reused_tokens, withdrawn.reused_tokens);
  EXPECT_EQ(withdrawn.miss.reason, MissReason::kDiffers);
}

TEST_F(Published, withdrawing_one_does_not_end_another_that_is_in_use) {
  const std::string other = "You translate. " + std::string(kLibrarySystem);
  std::vector<std::string> ids;
  for (const std::string& text : {std::string(kLibrarySystem), other}) {
    ids.push_back(
        world_.one<wire::ChunkReply>(world_.send(wire::ChunkPut{ChunkType::kSystemPrompt, text}))
            .chunk.id);
    publish(ids.back());
  }
  auto request = ask({system_text(other), query_text("Who wrote Faust? " + std::string(200, 'x'))});
  request.ignore_eos = true;
  const uint64_t running = world_.post(request, "client", "alice");
  for (int i = 0; i < 8; ++i) world_.pump(1);
  wire::ChunkUpdate withdraw;
  withdraw.id = ids[0];
  withdraw.published = false;
  world_.post(withdraw);
  world_.pump();
  EXPECT_GT(world_.one<wire::Final>(running).usage.reused_tokens, 40);
  EXPECT_GT(generate({system_text(other), query_text("Who?")}, "bob").usage.reused_tokens, 40);
}

TEST_F(Published, what_others_compute_behind_public_pages_is_their_own) {
  const Chunk system = world_
                           .one<wire::ChunkReply>(world_.send(
                               wire::ChunkPut{ChunkType::kSystemPrompt, kLibrarySystem}))
                           .chunk;
  publish(system.id);
  const auto chunks = [&](const std::string& query) {
    return std::vector<wire::ChunkRef>{system_text(kLibrarySystem), query_text(query)};
  };
  std::string secret = "The code is 4711. ";
  for (int i = 0; i < 30; ++i) secret += "Keep it. ";
  const auto alice = generate(chunks(secret), "alice");
  const auto bob = generate(chunks(secret), "bob");
  EXPECT_EQ(bob.usage.reused_tokens, alice.usage.reused_tokens);
  EXPECT_EQ(bob.usage.miss.reason, alice.usage.miss.reason);
}

TEST_F(Published, pages_come_back_after_a_restart) {
  wire::ChunkPut put{ChunkType::kSystemPrompt, kLibrarySystem};
  const Chunk chunk = world_.one<wire::ChunkReply>(world_.send(put)).chunk;
  wire::ChunkUpdate update;
  update.id = chunk.id;
  update.published = true;
  world_.one<wire::ChunkReply>(world_.send(update));
  world_.start_scheduler();
  EXPECT_GT(generate({system_text(kLibrarySystem), query_text("Who?")}, "bob").usage.reused_tokens,
            40);
}

}  // namespace
}  // namespace cascade
