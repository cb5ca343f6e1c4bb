// Floods of one tenant: what it finds full, another one finds open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::SchedulerWorld;

constexpr char kFlood[] = "flood";
constexpr char kLight[] = "light";

wire::GenerateRequest generate(const std::string& text, int32_t max_tokens) {
  wire::GenerateRequest request;
  request.prompt = text;
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  return request;
}

std::string words(const std::string& name, int count) {
  std::string text = name;
  for (int i = 0; i < count; ++i) text += " word" + std::to_string(i);
  return text;
}

// Jobs take the same time on every machine.
void set_speeds(SchedulerWorld& world) {
  world.tamper = [](wire::Message& answer) {
    if (auto* prefill = std::get_if<wire::PrefillDone>(&answer)) prefill->compute_us = 10'000;
    if (auto* decode = std::get_if<wire::DecodeDone>(&answer)) {
      decode->compute_us = 1000 * decode->steps;
    }
  };
}

uint64_t post(SchedulerWorld& world, const std::string& tenant, wire::Message message) {
  return world.post(std::move(message), "client of " + tenant, tenant);
}

bool refused(const SchedulerWorld& world, uint64_t number) {
  return !world.all<wire::ErrorReply>(number).empty();
}

// Sends `message` until it is refused; how often it was not.
int fill(SchedulerWorld& world, const std::string& tenant, const wire::Message& message) {
  for (int accepted = 0; accepted < 1000; ++accepted) {
    const uint64_t number = post(world, tenant, message);
    if (!refused(world, number)) continue;
    EXPECT_EQ(world.error(number).code, ErrorCode::kResourceExhausted);
    return accepted;
  }
  ADD_FAILURE() << "nothing was refused";
  return 0;
}

TEST(Floods, a_tenant_finds_its_part_of_a_queue_that_another_has_filled) {
  SchedulerOptions options;
  options.requests_waiting_max = 16;
  SchedulerWorld world(options);
  EXPECT_EQ(fill(world, kFlood, generate("One", 4)), 16);
  EXPECT_EQ(fill(world, kLight, generate("Two", 4)), 4);
  EXPECT_EQ(fill(world, "third", generate("Three", 4)), 2);
  EXPECT_EQ(fill(world, kFlood, generate("One", 4)), 0);
  const Error error = world.error(post(world, kLight, generate("Two", 4)));
  EXPECT_THAT(error.message, HasSubstr("22 requests are waiting, 4 of them this tenant's"));
  world.pump();
  EXPECT_EQ(fill(world, kLight, generate("Two", 4)), 16) << "all have left it";
}

TEST(Floods, of_many_tenants_leave_a_place_for_one_that_has_none) {
  SchedulerOptions options;
  options.requests_waiting_max = 8;
  SchedulerWorld world(options);
  for (int i = 0; i < 63; ++i) fill(world, kFlood + std::to_string(i), generate("One", 4));
  EXPECT_FALSE(refused(world, post(world, kLight, generate("Two", 4))));
}

TEST(Floods, of_long_prompts_leave_tokens_and_bytes_to_others) {
  SchedulerOptions options;
  options.tokens_waiting_max = 4000;
  SchedulerWorld world(options);
  fill(world, kFlood, generate(words("One", 300), 4));
  EXPECT_FALSE(refused(world, post(world, kLight, generate(words("Two", 300), 4))));
  EXPECT_TRUE(refused(world, post(world, kFlood, generate(words("One", 300), 4))));

  options.tokens_waiting_max = 1'000'000;
  options.text_bytes_waiting_max = 10'000;
  SchedulerWorld second(options);
  fill(second, kFlood, generate(words("One", 300), 4));
  EXPECT_FALSE(refused(second, post(second, kLight, generate(words("Two", 300), 4))));
}

// The light tenant asks for one thing at a time while the other has far more requests in flight
// than places and asks again at once, whatever it is told.
TEST(Floods, that_come_back_at_once_do_not_keep_others_out) {
  SchedulerOptions options;
  options.requests_waiting_max = 8;
  options.requests_running_max = 4;
  SchedulerWorld world(options);
  set_speeds(world);
  std::vector<uint64_t> flood(12);
  for (uint64_t& number : flood) number = post(world, kFlood, generate(words("One", 20), 8));
  int refusals = 0;
  uint64_t light = post(world, kLight, generate("Lake", 4));
  int served = 0;
  for (int step = 0; step < 600 && served < 4; ++step) {
    world.pump(1);
    for (uint64_t& number : flood) {
      const bool ended = refused(world, number) || !world.all<wire::Final>(number).empty();
      if (ended) number = post(world, kFlood, generate(words("One", 20), 8));
    }
    if (refused(world, light)) ++refusals;
    const bool done = !world.all<wire::Final>(light).empty();
    served += done ? 1 : 0;
    if (done || refused(world, light)) light = post(world, kLight, generate("Lake", 4));
  }
  EXPECT_EQ(served, 4);
  EXPECT_EQ(refusals, 0);
}

// Each refusal tells a later time, so that not all come at once; but only to whom is refused.
TEST(Floods, do_not_put_off_when_others_are_to_come_again) {
  SchedulerWorld world;
  set_speeds(world);
  for (int i = 0; i < 4; ++i) world.send(generate(words("Warm" + std::to_string(i), 20), 20));
  fill(world, kFlood, generate("One", 4));
  fill(world, kLight, generate("Two", 4));
  const auto retry_ms = [&](const char* tenant) {
    return world.all<wire::ErrorReply>(post(world, tenant, generate("One", 4)))[0].retry_after_ms;
  };
  const int64_t before_ms = retry_ms(kLight);
  int64_t flood_ms = 0;
  for (int i = 0; i < 100; ++i) flood_ms = retry_ms(kFlood);
  EXPECT_GT(flood_ms, 3 * before_ms);
  EXPECT_LE(retry_ms(kLight), 2 * before_ms);
}

TEST(Floods, of_chunks_texts_and_searches_leave_some_to_others) {
  SchedulerOptions options;
  options.chunk_puts_max = options.searches_max = 8;
  SchedulerWorld world(options);
  world.store_at_once = false;
  const std::vector<wire::Message> messages = {wire::ChunkPut{ChunkType::kContext, "A fact."},
                                               wire::TokenizeRequest{"Some words."},
                                               wire::ChunkSearch{"fact"}};
  for (const wire::Message& message : messages) {
    EXPECT_EQ(fill(world, kFlood, message), 8) << message.index();
    EXPECT_EQ(fill(world, kLight, message), 2) << message.index();
  }
}

TEST(Floods, of_prefixes_leave_some_to_others) {
  SchedulerOptions options;
  options.prefixes_max = 4;
  SchedulerWorld world(options);
  const auto keep = [&](const char* tenant, int number) {
    wire::PrefixCache prefix;
    prefix.prompt = words("Prefix" + std::to_string(number), 20);
    const uint64_t sent = world.send(prefix, "client", tenant);
    return !world.all<wire::PrefixReply>(sent).empty();
  };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(keep(kFlood, i));
  EXPECT_FALSE(keep(kFlood, 4));
  EXPECT_TRUE(keep(kLight, 0));
  EXPECT_FALSE(keep(kLight, 1)) << "its part is half of a half";
}

}  // namespace
}  // namespace cascade
