// Requests from admission to their end: queues, cancels, deadlines, lost actors, the end of
// service.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"
#include "tests/persist/memory_disk.h"

namespace cascade {
namespace {

using testing::Actor;
using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;

wire::GenerateRequest question(const std::string& text = "What is the capital of France?") {
  return ask({query_text(text)});
}

// A request that goes on until it is stopped.
wire::GenerateRequest endless_question() {
  auto request = question();
  request.ignore_eos = true;
  request.max_tokens = 10'000;
  return request;
}

TEST(Admission, refuses_beyond_the_queue_and_says_when_to_come_back) {
  SchedulerOptions options;
  options.requests_waiting_max = 2;
  SchedulerWorld world(options);
  const uint64_t first = world.post(question());
  const uint64_t second = world.post(question());
  const uint64_t third = world.post(question());
  EXPECT_EQ(world.error(third).code, ErrorCode::kResourceExhausted);
  EXPECT_GT(world.all<wire::ErrorReply>(third)[0].retry_after_ms, 0);
  world.pump();
  EXPECT_EQ(world.one<wire::Final>(first).text, "The capital of France is Paris.");
  EXPECT_EQ(world.one<wire::Final>(second).finish_reason, "stop");
}

TEST(Admission, bounds_the_text_that_waits) {
  SchedulerOptions options;
  options.text_bytes_waiting_max = 1000;
  SchedulerWorld world(options);
  world.post(question(std::string(2000, 'x')));
  const uint64_t second = world.post(question());
  EXPECT_EQ(world.error(second).code, ErrorCode::kResourceExhausted);
  world.pump();
  EXPECT_EQ(world.one<wire::Final>(world.send(question())).finish_reason, "stop");
}

TEST(Admission, one_request_id_runs_once) {
  SchedulerWorld world;
  const uint64_t number = world.post(question());
  world.core().on_client({kLocalTenant, "client"}, {testing::request_id(number), question()});
  world.pump();
  EXPECT_EQ(world.error(number).code, ErrorCode::kConflict);
  world.one<wire::Final>(number);
  // Another client may use the same id.
  world.core().on_client({kLocalTenant, "somebody else"},
                         {testing::request_id(number), question()});
  world.pump();
  EXPECT_EQ(world.all<wire::Final>(number).size(), 2u);
}

TEST(Admission, names_the_field_that_is_wrong) {
  SchedulerWorld world;
  auto unknown = ask({{ChunkType::kContext, "chunk_0123456789", ""}, query_text("?")});
  EXPECT_EQ(world.error(world.send(unknown)).code, ErrorCode::kNotFound);
  EXPECT_EQ(world.error(world.send(ask({query_text("a"), query_text("b")}))).field,
            "chunks[1].type");
  EXPECT_EQ(world.error(world.send(ask({query_text("a"), testing::system_text("b")}))).field,
            "chunks[1].type");
  EXPECT_EQ(world.error(world.send(ask({{ChunkType::kOutput, "", "text"}}))).field, "chunks[0].id");
  EXPECT_EQ(world.error(world.send(ask({testing::system_text("only this")}))).field, "chunks");
  wire::GenerateRequest role;
  role.messages = {{.role = "wizard", .content = "hi", .reasoning = {}}};
  EXPECT_EQ(world.error(world.send(role)).field, "messages[0].role");
  const std::string long_text(400'000, 'a');
  EXPECT_EQ(world.error(world.send(question(long_text))).field, "chunks");
  EXPECT_EQ(world.status().requests_running, 0);
}

TEST(Memory, requests_wait_for_pages_and_all_end) {
  SchedulerWorld world({}, 4);
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 8; ++i) {
    auto request = question("What is " + std::to_string(i) + " + 4?");
    request.max_tokens = 60;
    numbers.push_back(world.post(request));
  }
  world.pump();
  for (const uint64_t number : numbers)
    EXPECT_EQ(world.one<wire::Final>(number).finish_reason, "stop");
}

TEST(Memory, a_small_request_does_not_wait_behind_one_that_lacks_pages) {
  SchedulerWorld world({}, 8);
  auto running = endless_question();
  running.max_tokens = 250;
  const uint64_t first = world.post(running);
  world.pump(2);  // the request was promised five pages
  auto large = question("What is 5 + 4?");
  large.max_tokens = 300;
  const uint64_t second = world.post(large);
  auto small = question("What is 6 + 4?");
  small.max_tokens = 20;
  const uint64_t third = world.post(small);
  while (world.all<wire::Final>(third).empty()) ASSERT_EQ(world.pump(1), 1u);
  EXPECT_TRUE(world.all<wire::Final>(first).empty()) << "the small one did not wait for it";
  EXPECT_TRUE(world.all<wire::Final>(second).empty());
  world.pump();
  for (const uint64_t number : {first, second, third}) world.one<wire::Final>(number);
}

TEST(Memory, a_stream_of_small_requests_does_not_starve_a_large_one) {
  SchedulerWorld world({}, 8);
  auto small = question("What is 6 + 4?");
  small.max_tokens = 20;
  auto large = question("What is 5 + 4?");
  large.max_tokens = 440;  // all eight pages
  for (int i = 0; i < 3; ++i) world.post(small);
  world.pump(4);
  const uint64_t starved = world.post(large);
  int overtook = 0;
  // Two new requests come every few steps of the actors: without a bound the large one would never
  // start.
  for (; overtook < 200 && world.all<wire::Final>(starved).empty(); overtook += 2) {
    for (int i = 0; i < 2; ++i) world.post(small);
    world.pump(4);
  }
  EXPECT_EQ(world.all<wire::Final>(starved).size(), 1u);
}

TEST(Streams, pieces_add_up_to_the_answer) {
  SchedulerWorld world;
  auto request = question();
  request.stream = true;
  const uint64_t number = world.send(request);
  std::string text;
  for (const auto& delta : world.all<wire::Delta>(number)) text += delta.text;
  EXPECT_EQ(text, world.one<wire::Final>(number).text);
  EXPECT_EQ(world.all<wire::Accepted>(number).size(), 1u);
}

TEST(Streams, stop_strings_end_the_answer_before_them) {
  SchedulerWorld world;
  auto request = question();
  request.stop = {" is Par"};
  const auto final = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(final.text, "The capital of France");
  EXPECT_EQ(final.finish_reason, "stop");
}

TEST(Streams, max_tokens_ends_with_length) {
  SchedulerWorld world;
  auto request = question();
  request.max_tokens = 3;
  const auto final = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(final.finish_reason, "length");
  EXPECT_EQ(final.token_ids.size(), 3u);
  EXPECT_EQ(final.logprobs.size(), 3u);
}

TEST(Streams, a_silent_stream_gets_signs_of_life) {
  SchedulerWorld world;
  auto request = question();
  request.stream = true;
  const uint64_t number = world.post(request);
  world.clock.advance_us(1'100'000);
  world.core().on_tick();
  world.pump();
  EXPECT_GE(world.all<wire::Progress>(number).size(), 1u);
}

TEST(Cancel, works_in_every_state) {
  // After `jobs` jobs the request is being tokenized, prefilled or decoded.
  for (size_t jobs = 0; jobs < 8; ++jobs) {
    SchedulerWorld world;
    const uint64_t number = world.post(endless_question());
    ASSERT_EQ(world.pump(jobs), jobs);
    ASSERT_TRUE(world.all<wire::Final>(number).empty());
    const uint64_t cancel = world.post(wire::CancelRequest{testing::request_id(number)});
    world.one<wire::Ack>(cancel);
    world.pump(3);
    EXPECT_EQ(world.one<wire::Final>(number).finish_reason, "cancelled") << jobs << " jobs";
    EXPECT_EQ(world.status().requests_running + world.status().requests_waiting, 0);
    EXPECT_EQ(world.status().requests_cancelled, 1);
  }
}

TEST(Cancel, of_an_unknown_request_is_an_error) {
  SchedulerWorld world;
  EXPECT_EQ(world.error(world.send(wire::CancelRequest{testing::request_id(77)})).code,
            ErrorCode::kNotFound);
  const uint64_t number = world.post(endless_question(), "owner");
  // Another client cannot cancel the request.
  EXPECT_EQ(
      world.error(world.post(wire::CancelRequest{testing::request_id(number)}, "other")).field,
      "target");
}

TEST(Cancel, ends_only_its_own_request) {
  SchedulerWorld world;
  const uint64_t doomed = world.post(endless_question());
  const uint64_t other = world.post(question());
  world.pump(4);
  world.post(wire::CancelRequest{testing::request_id(doomed)});
  world.pump();
  EXPECT_EQ(world.one<wire::Final>(doomed).finish_reason, "cancelled");
  EXPECT_EQ(world.one<wire::Final>(other).text, "The capital of France is Paris.");
}

TEST(Cancel, what_was_prefilled_is_not_thrown_away) {
  SchedulerWorld world;
  const uint64_t number = world.post(endless_question());
  world.pump(4);
  world.post(wire::CancelRequest{testing::request_id(number)});
  world.pump();
  const auto again = world.one<wire::Final>(world.send(question()));
  EXPECT_EQ(again.usage.reused_tokens, again.usage.prompt_tokens - 1);
}

TEST(ClientGone, its_requests_end_and_nobody_is_answered) {
  SchedulerWorld world;
  const uint64_t first = world.post(endless_question(), "gone");
  const uint64_t second = world.post(endless_question(), "gone");
  const uint64_t other = world.post(question(), "here");
  world.pump(5);
  world.post(wire::ClientGone{}, "gone");
  world.pump();
  EXPECT_TRUE(world.all<wire::Final>(first).empty());
  EXPECT_TRUE(world.all<wire::Final>(second).empty());
  world.one<wire::Final>(other);
  EXPECT_EQ(world.status().requests_running, 0);
  EXPECT_EQ(world.status().requests_cancelled, 2);
}

TEST(Deadline, ends_a_request_that_takes_too_long) {
  SchedulerWorld world;
  auto request = endless_question();
  request.timeout_ms = 50;
  const uint64_t number = world.post(request);
  world.pump(2);
  world.clock.advance_us(60'000);
  // A request does not end while a job works on it.
  world.core().on_tick();
  for (int i = 0; i < 4 && world.all<wire::ErrorReply>(number).empty(); ++i) {
    world.pump(1);
    world.core().on_tick();
  }
  EXPECT_EQ(world.error(number).code, ErrorCode::kDeadlineExceeded);
}

TEST(LostActors, a_restarted_compute_actor_fails_its_requests_and_no_others) {
  for (const Actor actor : {Actor::kPrefill, Actor::kDecode}) {
    SchedulerWorld world;
    const uint64_t doomed = world.post(endless_question());
    while (world.jobs_for(actor) == 0) ASSERT_EQ(world.pump(1), 1u);
    world.restart(actor);
    EXPECT_EQ(world.error(doomed).code, ErrorCode::kInternal);
    const auto after = world.one<wire::Final>(world.send(question()));
    EXPECT_EQ(after.text, "The capital of France is Paris.");
    EXPECT_EQ(world.status().actors_restarted.size(), 1u);
    EXPECT_EQ(world.status().requests_running, 0);
  }
}

TEST(LostActors, prefill_takes_waiting_registrations_with_it) {
  SchedulerWorld world;
  const uint64_t put = world.post(wire::ChunkPut{ChunkType::kContext, "some text"});
  world.restart(Actor::kPrefill);
  EXPECT_EQ(world.error(put).code, ErrorCode::kInternal);
  EXPECT_EQ(
      world.one<wire::ChunkReply>(world.send(wire::ChunkPut{ChunkType::kContext, "some text"}))
          .chunk.text,
      "some text");
}

TEST(LostActors, nobody_is_told_of_a_text_that_a_request_brought_along) {
  SchedulerWorld world;
  int to_nobody = 0;
  world.on_outgoing = [&](const Outgoing& outgoing) {
    to_nobody += outgoing.to == Actor::kGateway && outgoing.client.tenant.empty();
  };
  world.post(ask({testing::system_text("some text"), testing::query_text("Why?")}));
  world.restart(Actor::kPrefill);
  EXPECT_EQ(to_nobody, 0);
}

TEST(LostActors, a_new_gateway_has_lost_its_clients) {
  SchedulerWorld world;
  const std::string boot_id = world.one<wire::Pong>(world.send(wire::Ping{})).boot_id;
  world.post(endless_question());
  world.pump(5);
  EXPECT_EQ(world.status_now().requests_running, 1);
  world.restart(Actor::kGateway);
  EXPECT_LT(world.pump(50), 50u) << "it goes on, for nobody";
  const uint64_t other = world.post_from({kLocalTenant, "client", Door::kHttp}, question());
  world.pump(3);
  world.restart(Actor::kGateway);
  world.pump();
  EXPECT_FALSE(world.all<wire::Final>(other).empty()) << "another door's";
  EXPECT_EQ(world.status().requests_running, 0);
  EXPECT_NE(world.one<wire::Pong>(world.send(wire::Ping{})).boot_id, boot_id);
}

TEST(LostActors, an_answer_from_before_the_restart_is_ignored) {
  SchedulerWorld world;
  wire::DecodeDone stale;
  stale.job = 999'999;
  stale.sequences.push_back({42, {1, 2}, {0, 0}, {}, {}, {}});
  world.core().on_answer(stale);
  wire::PrefillDone stale_prefill;
  stale_prefill.job = 999'998;
  world.core().on_answer(stale_prefill);
  world.one<wire::Final>(world.send(question()));
}

TEST(LostActors, an_error_of_the_model_reaches_the_client) {
  SchedulerWorld world;
  world.tamper = [](wire::Message& message) {
    if (auto* done = std::get_if<wire::DecodeDone>(&message)) {
      done->error = data_corrupt("logits", "are not finite");
    }
  };
  EXPECT_EQ(world.error(world.send(question())).code, ErrorCode::kDataCorrupt);
  world.tamper = nullptr;
  world.one<wire::Final>(world.send(question()));
}

TEST(Stop, lets_running_requests_end_and_takes_no_new_ones) {
  SchedulerWorld world;
  const uint64_t running = world.post(question());
  world.pump(2);
  world.core().stop();
  EXPECT_EQ(world.error(world.post(question())).code, ErrorCode::kUnavailable);
  EXPECT_FALSE(world.core().stopped());
  world.pump();
  EXPECT_EQ(world.one<wire::Final>(running).text, "The capital of France is Paris.");
  EXPECT_TRUE(world.core().stopped());
}

// Gives an answer that is retained; its history is still to be computed.
uint64_t answer_and_retain(SchedulerWorld& world) {
  wire::GenerateRequest request = question();
  request.retain_output = true;
  const uint64_t asked = world.post(request);
  while (world.all<wire::Final>(asked).empty() && world.pump(1) > 0) {
  }
  return asked;
}

TEST(Stop, computes_what_was_just_answered_as_history_where_it_will_be_on_disk) {
  for (const bool keep_pages : {true, false}) {
    testing::MemoryDisk disk;
    const auto store = *Store::open(disk, "/state", {});
    SchedulerOptions options;
    options.keep_pages = keep_pages;
    SchedulerWorld world(options, SchedulerWorld::kPages, store.get());
    const uint64_t asked = answer_and_retain(world);
    EXPECT_GT(world.status_now().reprefills_pending, 0);
    world.core().stop();
    EXPECT_EQ(world.core().stopped(), !keep_pages);
    world.pump();
    world.core().on_tick();
    world.pump();
    EXPECT_TRUE(world.core().stopped());
    const std::string id = world.one<wire::Final>(asked).output_chunk_id;
    EXPECT_EQ(world.chunk(id).kv_state, keep_pages ? KvState::kReady : KvState::kPending);
  }
}

TEST(Stop, does_not_wait_long_for_histories) {
  testing::MemoryDisk disk;
  const auto store = *Store::open(disk, "/state", {});
  SchedulerOptions options;
  options.keep_pages = true;
  SchedulerWorld world(options, SchedulerWorld::kPages, store.get());
  answer_and_retain(world);
  world.core().stop();
  EXPECT_FALSE(world.core().stopped());
  world.clock.advance_us(options.stop_us / 4);
  EXPECT_TRUE(world.core().stopped());
}

TEST(Stop, cancels_what_outlasts_the_grace_period) {
  SchedulerOptions options;
  options.stop_us = 1000;
  SchedulerWorld world(options);
  const uint64_t running = world.post(endless_question());
  world.pump(5);
  world.core().stop();
  world.clock.advance_us(10'000);
  world.core().on_tick();
  world.pump();
  EXPECT_EQ(world.one<wire::Final>(running).finish_reason, "cancelled");
  EXPECT_TRUE(world.core().stopped());
}

}  // namespace
}  // namespace cascade
