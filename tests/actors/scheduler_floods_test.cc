// Floods of one tenant: what is full for that tenant is open for another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::long_text;
using testing::prompt_request;
using testing::SchedulerWorld;
using testing::set_speeds;

constexpr char kFlood[] = "flood";
constexpr char kLight[] = "light";

uint64_t post(SchedulerWorld& world, const std::string& tenant, wire::Message message) {
  return world.post(std::move(message), "client of " + tenant, tenant);
}

bool was_refused(const SchedulerWorld& world, uint64_t number) {
  return !world.all<wire::ErrorReply>(number).empty();
}

// Sends `message` until it is refused. Returns how often it was accepted.
int send_until_refused(SchedulerWorld& world, const std::string& tenant,
                       const wire::Message& message) {
  for (int accepted = 0; accepted < 1000; ++accepted) {
    const uint64_t number = post(world, tenant, message);
    if (!was_refused(world, number)) continue;
    EXPECT_EQ(world.error(number).code, ErrorCode::kResourceExhausted);
    return accepted;
  }
  ADD_FAILURE() << "nothing was refused";
  return 0;
}

SchedulerOptions places(int waiting, int running) {
  SchedulerOptions options;
  options.requests_waiting_max = waiting;
  options.requests_running_max = running;
  return options;
}

TEST(Floods, a_tenant_finds_its_part_of_a_queue_that_another_has_filled) {
  SchedulerOptions options;
  options.requests_waiting_max = 16;
  SchedulerWorld world(options);
  EXPECT_EQ(send_until_refused(world, kFlood, prompt_request("One", 4)), 16);
  EXPECT_EQ(send_until_refused(world, kLight, prompt_request("Two", 4)), 4);
  EXPECT_EQ(send_until_refused(world, "third", prompt_request("Three", 4)), 2);
  EXPECT_EQ(send_until_refused(world, kFlood, prompt_request("One", 4)), 0);
  const Error error = world.error(post(world, kLight, prompt_request("Two", 4)));
  EXPECT_THAT(error.message, HasSubstr("22 requests are waiting, 4 of them this tenant's"));
  world.pump();
  EXPECT_EQ(send_until_refused(world, kLight, prompt_request("Two", 4)), 16) << "all have left it";
}

TEST(Floods, of_many_tenants_leave_a_place_for_one_that_has_none) {
  SchedulerOptions options;
  options.requests_waiting_max = 8;
  SchedulerWorld world(options);
  for (int i = 0; i < 63; ++i)
    send_until_refused(world, kFlood + std::to_string(i), prompt_request("One", 4));
  EXPECT_FALSE(was_refused(world, post(world, kLight, prompt_request("Two", 4))));
}

TEST(Floods, of_long_prompts_leave_tokens_and_bytes_to_others) {
  SchedulerOptions options;
  options.tokens_waiting_max = 4000;
  SchedulerWorld world(options);
  send_until_refused(world, kFlood, prompt_request(long_text("One", 300), 4));
  EXPECT_FALSE(was_refused(world, post(world, kLight, prompt_request(long_text("Two", 300), 4))));
  EXPECT_TRUE(was_refused(world, post(world, kFlood, prompt_request(long_text("One", 300), 4))));

  options.tokens_waiting_max = 1'000'000;
  options.text_bytes_waiting_max = 10'000;
  SchedulerWorld second(options);
  send_until_refused(second, kFlood, prompt_request(long_text("One", 300), 4));
  EXPECT_FALSE(was_refused(second, post(second, kLight, prompt_request(long_text("Two", 300), 4))));
}

// The light tenant asks for one thing at a time. The other tenant has far more requests in flight
// than there are places, and asks again at once, whatever it is told.
TEST(Floods, that_come_back_at_once_do_not_keep_others_out) {
  SchedulerWorld world(places(8, 4));
  set_speeds(world);
  std::vector<uint64_t> flood(12);
  for (uint64_t& number : flood)
    number = post(world, kFlood, prompt_request(long_text("One", 20), 8));
  int refusals = 0;
  uint64_t light = post(world, kLight, prompt_request("Lake", 4));
  int served = 0;
  for (int step = 0; step < 600 && served < 4; ++step) {
    world.pump(1);
    for (uint64_t& number : flood) {
      const bool ended = was_refused(world, number) || !world.all<wire::Final>(number).empty();
      if (ended) number = post(world, kFlood, prompt_request(long_text("One", 20), 8));
    }
    if (was_refused(world, light)) ++refusals;
    const bool done = !world.all<wire::Final>(light).empty();
    served += done ? 1 : 0;
    if (done || was_refused(world, light)) light = post(world, kLight, prompt_request("Lake", 4));
  }
  EXPECT_EQ(served, 4);
  EXPECT_EQ(refusals, 0);
}

// There are more tenants with much to do than places. Another tenant, which asks for one thing at a
// time, has had more than its share already, but does not have to wait for any of them.
TEST(Floods, of_more_tenants_than_places_do_not_keep_out_one_that_asks_singly) {
  SchedulerWorld world(places(8, 2));
  set_speeds(world);
  for (int i = 0; i < 6; ++i) {
    const auto message = prompt_request(long_text("One", 20), 2000);
    send_until_refused(world, kFlood + std::to_string(i), message);
  }
  while (world.status_now().requests_running < 2) ASSERT_EQ(world.pump(1), 1u);
  for (int i = 0; i < 10; ++i) {
    const std::string text = long_text("Lake" + std::to_string(i), 100);
    const uint64_t light = post(world, kLight, prompt_request(text, 1));
    size_t jobs = 0;
    while (world.all<wire::Final>(light).empty()) ASSERT_LT(jobs += world.pump(1), 40u) << i;
  }
  EXPECT_EQ(world.status_now().requests_done, 10) << "the others have not ended yet";
}

// Tenants that ask for one thing at a time, and again at once, take every place and those in
// reserve. The tenant with much to do gets its share all the same.
TEST(Floods, of_tenants_that_ask_singly_do_not_starve_one_with_much_to_do) {
  SchedulerWorld world(places(64, 1));
  // Each sampled token is charged like 10 to 20 tokens of a prompt, so that fewer are needed.
  world.tamper = [](wire::Message& answer) {
    if (auto* prefill = std::get_if<wire::PrefillDone>(&answer)) prefill->compute_us = 50;
    if (auto* decode = std::get_if<wire::DecodeDone>(&answer)) {
      decode->compute_us = 1000 * decode->steps;
    }
  };
  std::vector<uint64_t> much;
  for (int i = 0; i < 12; ++i) much.push_back(post(world, "much", prompt_request("One", 60)));
  std::map<std::string, uint64_t> singly = {{"a", 0}, {"b", 0}, {"c", 0}};
  int served = 0;
  while (served < 100 && world.all<wire::Final>(much[1]).empty()) {
    for (auto& [tenant, number] : singly) {
      if (number != 0 && world.all<wire::Final>(number).empty()) continue;
      served += number != 0;
      number = post(world, tenant, prompt_request("Lake", 60));
    }
    ASSERT_EQ(world.pump(1), 1u);
  }
  EXPECT_FALSE(world.all<wire::Final>(much[1]).empty()) << "while others were served " << served;
}

TEST(Floods, whose_clients_are_gone_do_not_put_off_the_refusals_of_others) {
  SchedulerWorld world;
  const auto message = prompt_request("One", 4);
  send_until_refused(world, kFlood, message);
  for (int i = 0; i < 5000; ++i) world.post(message, "gone", kFlood);
  const uint64_t living = post(world, kFlood, message);
  world.core().on_client({kFlood, "gone"}, {{}, wire::ClientGone{}});
  world.clock.advance_us(100'000);
  world.core().on_tick();
  world.pump(0);
  EXPECT_TRUE(was_refused(world, living));
}

TEST(Floods, that_are_refused_more_often_than_the_machine_bears_hear_of_it_later) {
  SchedulerWorld world;
  const auto message = prompt_request("One", 4);
  send_until_refused(world, kFlood, message);
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 600; ++i) numbers.push_back(post(world, kFlood, message));
  const auto answered = [&] {
    return std::ranges::count_if(numbers, [&](uint64_t n) { return was_refused(world, n); });
  };
  EXPECT_EQ(answered(), PacedRefusals::kPerCore - 1) << "one was refused before";
  EXPECT_FALSE(was_refused(world, post(world, kLight, message))) << "it has a place";
  world.clock.advance_us(1'000'000);
  world.core().on_tick();
  world.pump(0);
  EXPECT_EQ(answered(), 600);
  EXPECT_GT(world.all<wire::ErrorReply>(numbers.back())[0].retry_after_ms, 0);
}

TEST(Floods, that_wait_to_be_refused_keep_their_request_ids) {
  SchedulerWorld world;
  const auto message = prompt_request("One", 4);
  send_until_refused(world, kFlood, message);
  uint64_t last = 0;
  for (int i = 0; i < 600; ++i) last = post(world, kFlood, message);
  world.core().on_client({kFlood, std::string("client of ") + kFlood},
                         {testing::request_id(last), message});
  world.pump(0);
  EXPECT_EQ(world.error(last).code, ErrorCode::kConflict);
}

TEST(Floods, that_wait_to_be_refused_hear_of_it_when_the_daemon_stops) {
  SchedulerWorld world;
  send_until_refused(world, kFlood, prompt_request("One", 4));
  uint64_t last = 0;
  for (int i = 0; i < 600; ++i) last = post(world, kFlood, prompt_request("One", 4));
  EXPECT_FALSE(was_refused(world, last));
  world.core().stop();
  world.pump(0);
  EXPECT_TRUE(was_refused(world, last));
}

// Each refusal tells its tenant a later time, so that not all requests come again at once. Other
// tenants are not told a later time.
TEST(Floods, do_not_put_off_when_others_are_to_come_again) {
  SchedulerWorld world;
  set_speeds(world);
  for (int i = 0; i < 4; ++i)
    world.send(prompt_request(long_text("Warm" + std::to_string(i), 20), 20));
  send_until_refused(world, kFlood, prompt_request("One", 4));
  send_until_refused(world, kLight, prompt_request("Two", 4));
  const auto retry_ms = [&](const char* tenant) {
    return world.all<wire::ErrorReply>(post(world, tenant, prompt_request("One", 4)))[0]
        .retry_after_ms;
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
    EXPECT_EQ(send_until_refused(world, kFlood, message), 8) << message.index();
    EXPECT_EQ(send_until_refused(world, kLight, message), 2) << message.index();
  }
}

TEST(Floods, of_prefixes_leave_some_to_others) {
  SchedulerOptions options;
  options.prefixes_max = 4;
  SchedulerWorld world(options);
  const auto keep = [&](const char* tenant, int number) {
    wire::PrefixCache prefix;
    prefix.prompt = long_text("Prefix" + std::to_string(number), 20);
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
