// Every operation on chunks, with every refusal.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

wire::ChunkUpdate update_of(const std::string& id) {
  wire::ChunkUpdate update;
  update.id = id;
  return update;
}

class Operations : public ::testing::Test {
 protected:
  Chunk put(const wire::ChunkPut& put) {
    return world_.one<wire::ChunkReply>(world_.send(put)).chunk;
  }
  Chunk put(const std::string& text) { return put(wire::ChunkPut{ChunkType::kContext, text}); }
  Chunk update(const wire::ChunkUpdate& update) {
    return world_.one<wire::ChunkReply>(world_.send(update)).chunk;
  }
  Error refused(wire::Message message) { return world_.error(world_.send(std::move(message))); }

  SchedulerWorld world_;
};

TEST_F(Operations, the_same_content_again_is_counted_and_takes_what_is_given) {
  wire::ChunkPut request{ChunkType::kContext, "Paris is in France."};
  const Chunk first = put(request);
  EXPECT_EQ(first.registrations, 1);
  EXPECT_EQ(first.priority, kPriorityNormal);
  request.name = "france";
  request.ttl_ms = 60'000;
  request.priority = 70;
  request.priority_ms = 1000;
  const Chunk again = put(request);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.registrations, 2);
  EXPECT_EQ(again.name, "france");
  EXPECT_EQ(again.priority, 70);
  EXPECT_EQ(again.expires_us, 0);  // as promised the first time
  ASSERT_EQ(again.holders.size(), 2u);
  EXPECT_GT(again.holders[1].expires_us, world_.clock.wall_us());
  EXPECT_EQ(world_.chunk(first.id), again);
  // A name that is not given stays.
  EXPECT_EQ(put("Paris is in France.").name, "france");
}

TEST_F(Operations, token_ids_make_the_chunk_of_their_text) {
  const Chunk text = put("What is the capital of Grönland?");
  wire::ChunkPut request{ChunkType::kContext, ""};
  request.token_ids = text.token_ids;
  const Chunk tokens = put(request);
  EXPECT_EQ(tokens.id, text.id);
  EXPECT_EQ(tokens.text, text.text);
  EXPECT_EQ(tokens.token_ids, text.token_ids);
  EXPECT_EQ(tokens.registrations, 2);
}

TEST_F(Operations, token_ids_that_are_no_text_are_refused) {
  const auto refuse = [&](std::vector<int32_t> ids) {
    wire::ChunkPut request{ChunkType::kContext, ""};
    request.token_ids = std::move(ids);
    const Error error = refused(request);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    return error.field;
  };
  EXPECT_EQ(refuse({1, -1}), "token_ids[1]");
  EXPECT_EQ(refuse({testing::demo_model().config.vocab_size}), "token_ids[0]");
  EXPECT_EQ(refuse({testing::demo_model().generation.end_tokens.at(0)}), "token_ids[0]");
  const int64_t context = testing::demo_model().config.context_tokens_max;
  EXPECT_EQ(refuse(std::vector<int32_t>(static_cast<size_t>(context) + 1, 40)), "token_ids");
  EXPECT_EQ(world_.status().chunks_input, 0);
}

TEST_F(Operations, half_a_character_is_no_text) {
  // Looks for a token that is a single byte of a longer character, by decoding each id.
  const Tokenizer& tokenizer = testing::demo_model().tokenizer;
  for (int32_t id = 0; id < testing::demo_model().config.vocab_size; ++id) {
    const std::string text = tokenizer.decode(std::span(&id, 1), false);
    if (text != "\xEF\xBF\xBD") continue;
    wire::ChunkPut request{ChunkType::kContext, ""};
    request.token_ids = {id};
    EXPECT_EQ(refused(request).field, "token_ids");
    return;
  }
  GTEST_SKIP() << "the vocabulary has no byte tokens";
}

TEST_F(Operations, an_update_changes_what_it_names) {
  const Chunk chunk = put("a text");
  wire::ChunkUpdate change = update_of(chunk.id);
  change.name = "näme";
  EXPECT_EQ(update(change).name, "näme");
  change = update_of(chunk.id);
  change.touch = true;
  world_.clock.advance_us(5'000'000);
  const Chunk touched = update(change);
  EXPECT_EQ(touched.hits, chunk.hits + 1);
  EXPECT_GT(touched.last_used_us, chunk.last_used_us);
  EXPECT_EQ(touched.name, "näme");
  change = update_of(chunk.id);
  change.name = "";
  EXPECT_EQ(update(change).name, "");
  const Chunk other = put("another text");
  change = update_of(other.id.substr(0, 14));
  change.pinned = true;
  change.ttl_ms = 1000;
  change.priority = 0;
  const Chunk changed = update(change);
  EXPECT_TRUE(changed.pinned);
  EXPECT_EQ(changed.priority, 0);
  EXPECT_EQ(changed.priority_until_us, 0);
  EXPECT_GT(changed.expires_us, world_.clock.wall_us());
  EXPECT_EQ(changed.kv_state, KvState::kNone);  // a pinned context has K and V only in prompts
  change = update_of(other.id);
  change.ttl_ms = 0;
  EXPECT_EQ(update(change).expires_us, 0);
}

TEST_F(Operations, a_refused_part_changes_nothing) {
  wire::GenerateRequest request = ask({query_text("What is the capital of Peru?")});
  request.retain_output = true;
  SchedulerOptions options;
  options.max_pinned = 0;
  SchedulerWorld world(options);
  const auto final = world.one<wire::Final>(world.send(request));
  const Chunk before = world.chunk(final.output_chunk_id);
  wire::ChunkUpdate change = update_of(before.id);
  change.name = "x";
  change.ttl_ms = 1;
  change.priority = 99;
  change.touch = true;
  change.pinned = true;
  const Error error = world.error(world.send(change));
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(error.field, "pinned");
  EXPECT_NE(error.message.find("--max-pinned"), std::string::npos);
  EXPECT_EQ(world.chunk(before.id), before);
}

TEST_F(Operations, unknown_and_deleted_and_ambiguous_ids_are_told_apart) {
  const Chunk chunk = put("a text");
  EXPECT_EQ(refused(update_of("chunk_ffffffff")).code, ErrorCode::kNotFound);
  world_.one<wire::ChunkReply>(world_.send(wire::ChunkDelete{chunk.id}));
  for (const wire::Message& message :
       {wire::Message(wire::ChunkGet{chunk.id}), wire::Message(wire::ChunkDelete{chunk.id}),
        wire::Message(update_of(chunk.id))}) {
    const Error error = refused(message);
    EXPECT_EQ(error.code, ErrorCode::kNotFound);
    EXPECT_NE(error.message.find("was deleted"), std::string::npos) << error.message;
  }
  // Most likely, two of the 40 chunks share their first 8 characters, "chunk_" and two digits. If
  // not, the beginning names one chunk.
  std::map<std::string, int> beginnings;
  for (int i = 0; i < 40; ++i) ++beginnings[put("text " + std::to_string(i)).id.substr(0, 8)];
  for (const auto& [beginning, count] : beginnings) {
    wire::ChunkUpdate change = update_of(beginning);
    change.touch = true;
    const uint64_t number = world_.send(change);
    if (count == 1) {
      world_.one<wire::ChunkReply>(number);
    } else {
      EXPECT_EQ(world_.error(number).code, ErrorCode::kInvalidArgument);
    }
  }
}

TEST_F(Operations, another_tenants_id_is_not_found_by_any_operation) {
  const Chunk chunk = put("a secret");
  wire::ChunkUpdate change = update_of(chunk.id);
  change.touch = true;
  const std::vector<wire::Message> operations = {
      wire::ChunkGet{chunk.id}, wire::ChunkDelete{chunk.id}, change,
      ask({{ChunkType::kContext, chunk.id, ""}, query_text("What?")}),
      wire::ChunkListRequest{std::nullopt, 10, chunk.id}};
  for (const wire::Message& operation : operations) {
    const Error error = world_.error(world_.send_as("alice", operation));
    EXPECT_EQ(error.code, ErrorCode::kNotFound) << operation.index();
    EXPECT_EQ(error.message.find("secret"), std::string::npos);
  }
  const auto page =
      world_.one<wire::ChunkListReply>(world_.send_as("alice", wire::ChunkListRequest{}));
  EXPECT_TRUE(page.chunks.empty());
  EXPECT_EQ(world_.chunk(chunk.id), chunk);
}

TEST_F(Operations, a_published_chunk_is_found_by_all_and_changed_by_its_owner) {
  const Chunk chunk = put("What everybody may know.");
  wire::ChunkUpdate change = update_of(chunk.id);
  change.published = true;
  EXPECT_TRUE(update(change).published);
  EXPECT_EQ(
      world_.one<wire::ChunkReply>(world_.send_as("alice", wire::ChunkGet{chunk.id})).chunk.id,
      chunk.id);
  const auto page =
      world_.one<wire::ChunkListReply>(world_.send_as("alice", wire::ChunkListRequest{}));
  ASSERT_EQ(page.chunks.size(), 1u);
  world_.one<wire::Final>(world_.send_as(
      "alice", ask({{ChunkType::kContext, chunk.id, ""}, query_text("What is 2+2?")})));
  EXPECT_EQ(world_.chunk(chunk.id).hits, 1);
  wire::ChunkUpdate touch = update_of(chunk.id);
  touch.touch = true;
  EXPECT_EQ(world_.error(world_.send_as("alice", touch)).code, ErrorCode::kConflict);
  EXPECT_EQ(world_.error(world_.send_as("alice", wire::ChunkDelete{chunk.id})).code,
            ErrorCode::kConflict);
  // Only the administrator publishes.
  const uint64_t own = world_.send_as("alice", wire::ChunkPut{ChunkType::kContext, "mine"});
  wire::ChunkUpdate publish = update_of(world_.one<wire::ChunkReply>(own).chunk.id);
  publish.published = true;
  EXPECT_EQ(world_.error(world_.send_as("alice", publish)).field, "published");
  change.published = false;
  EXPECT_FALSE(update(change).published);
  EXPECT_EQ(world_.error(world_.send_as("alice", wire::ChunkGet{chunk.id})).code,
            ErrorCode::kNotFound);
}

TEST_F(Operations, an_empty_output_is_an_empty_chunk) {
  wire::GenerateRequest request = ask({query_text("What is the capital of Peru?")});
  request.retain_output = true;
  request.sampling.logit_bias = {{testing::demo_model().generation.end_tokens.at(0), 100}};
  const auto final = world_.one<wire::Final>(world_.send(request));
  EXPECT_EQ(final.text, "");
  const Chunk chunk = world_.chunk(final.output_chunk_id);
  EXPECT_EQ(chunk.text, "");
  EXPECT_EQ(chunk.token_ids.size(), 1u);
  EXPECT_EQ(chunk.generation.finish_reason, "stop");
  // The empty chunk can be composed with.
  world_.one<wire::Final>(
      world_.send(ask({output_ref(chunk.id), query_text("What is the capital of Chile?")})));
}

TEST_F(Operations, an_output_knows_its_parents_and_what_its_request_gave_it) {
  const Chunk context = put("Ana likes plums.");
  wire::GenerateRequest request = ask({system_text("Be brief."),
                                       {ChunkType::kContext, context.id, ""},
                                       query_text("What does Ana like to eat?")});
  request.retain_output = true;
  request.output_name = "ana";
  request.output_pinned = true;
  request.output_priority = 90;
  request.output_priority_ms = 1'000'000;
  request.output_ttl_ms = 2'000'000;
  const auto final = world_.one<wire::Final>(world_.send(request));
  const Chunk output = world_.chunk(final.output_chunk_id);
  ASSERT_EQ(output.parent_ids.size(), 2u);
  EXPECT_EQ(world_.chunk(output.parent_ids[0]).text, "Be brief.");
  EXPECT_EQ(output.parent_ids[1], context.id);
  EXPECT_EQ(output.name, "ana");
  EXPECT_TRUE(output.pinned);
  EXPECT_EQ(output.priority, 90);
  EXPECT_GT(output.priority_until_us, world_.clock.wall_us());
  EXPECT_GT(output.expires_us, output.priority_until_us);
  EXPECT_EQ(output.kv_state, KvState::kReady);
  // The same answer to the same prompt is the same chunk.
  const auto again = world_.one<wire::Final>(world_.send(request));
  EXPECT_EQ(again.output_chunk_id, final.output_chunk_id);
  EXPECT_EQ(world_.chunk(output.id).registrations, 2);
}

TEST_F(Operations, statistics_tell_tenants_and_types_apart) {
  const Chunk context = put("Ana likes plums.");
  world_.send_as("alice", wire::ChunkPut{ChunkType::kQuery, "Who?"});
  wire::GenerateRequest request = ask({{ChunkType::kContext, context.id, ""}, query_text("2+2?")});
  request.retain_output = true;
  world_.one<wire::Final>(world_.send(request));
  const auto all = world_.one<wire::StatsReply>(world_.send(wire::StatsRequest{}));
  ASSERT_EQ(all.groups.size(), 3u);
  EXPECT_EQ(all.groups[0].tenant, "alice");
  EXPECT_EQ(all.groups[0].type, ChunkType::kQuery);
  EXPECT_EQ(all.groups[1].hits, 1);
  EXPECT_EQ(all.groups[2].type, ChunkType::kOutput);
  EXPECT_GT(all.groups[2].kv_bytes, 0);
  ASSERT_TRUE(all.cache.has_value());
  EXPECT_EQ(all.cache->policy, "hybrid");
  EXPECT_EQ(all.cache->pages_max, static_cast<int64_t>(SchedulerWorld::kPages));
  EXPECT_EQ(all.cache->pages_pinned_max, all.cache->pages_max / 2);
  EXPECT_GT(all.cache->pages_held, 0);
  EXPECT_GT(all.cache->page_misses, 0);
  EXPECT_GT(all.cache->working_set_bytes, 0);
  EXPECT_EQ(world_.status().warnings, std::vector<std::string>());
  const auto hers = world_.one<wire::StatsReply>(world_.send_as("alice", wire::StatsRequest{}));
  ASSERT_EQ(hers.groups.size(), 1u);
  EXPECT_EQ(hers.groups[0].chunks, 1);
  EXPECT_FALSE(hers.cache.has_value());
  EXPECT_EQ(hers.pages_of_tenant, 0);
}

}  // namespace
}  // namespace cascade
