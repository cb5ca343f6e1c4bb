// States on disk: conversations go on after a restart, with the bits of a cold prompt; what is
// deleted is nowhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/hybrid_disk_world.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::HybridDiskWorld;
using testing::ids_request;
using testing::joined;
using testing::retained_ids;
using testing::some_ids;
using Ids = std::vector<int32_t>;

// The conversation after an answer: all of it, and some words more.
Ids after(const wire::GenerateRequest& request, const wire::Final& final, uint64_t seed) {
  return joined(joined(request.prompt_token_ids, final.token_ids), some_ids(seed, 30));
}

// How many tokens are before the state.
int64_t end_of(const StoredPage& state) {
  return state.header.position + std::ssize(state.header.token_ids);
}

TEST(StoredStates, let_each_turn_of_a_chat_go_on_after_a_kill) {
  for (const std::string& name : testing::hybrids_of_each_kind()) {
    HybridDiskWorld daemon(name);
    Ids chain = some_ids(1, 100);
    for (uint64_t turn = 0; turn < 4; ++turn) {
      const auto request = retained_ids(chain, 20);
      const wire::Final final = daemon.exact(request);
      // The last token of an answer is not computed before the next turn.
      const int64_t known = turn == 0 ? 0 : std::ssize(chain) - 30 - 1;
      EXPECT_EQ(final.usage.reused_tokens, known) << name << ", turn " << turn;
      EXPECT_EQ(final.usage.loaded_tokens, known) << name << ", turn " << turn;
      chain = after(request, final, 10 + turn);
      daemon.restart();
    }
  }
}

TEST(StoredStates, in_the_middle_of_a_stored_page_are_found_with_its_beginning) {
  HybridDiskWorld daemon;
  // The prompt ends in the middle of the first page, which the answer fills.
  const auto request = retained_ids(some_ids(1, 40), 30);
  daemon.answer(request);
  daemon.restart();
  const auto again = ids_request(some_ids(1, 40), 3);
  EXPECT_EQ(daemon.exact(again).usage.reused_tokens, 39);
}

TEST(StoredStates, that_memory_has_pages_of_are_read_alone) {
  HybridDiskWorld daemon("qwen3-5", /*state_slots=*/3);
  const auto request = retained_ids(some_ids(1, 100), 40);
  const wire::Final final = daemon.answer(request);
  for (uint64_t i = 2; i < 6; ++i) daemon.answer(ids_request(some_ids(i, 50), 1));
  const wire::Final next = daemon.exact(ids_request(after(request, final, 7), 3));
  EXPECT_EQ(next.usage.reused_tokens, 139);
  EXPECT_EQ(next.usage.loaded_tokens, 0) << "K and V were in memory";
}

TEST(StoredStates, under_a_budget_for_two_are_those_of_the_latest_turn) {
  HybridDiskWorld daemon;
  daemon.states_options.disk_bytes_max = 2 * 4096 + 2 * daemon.state_record_bytes();
  daemon.restart();
  Ids chain = some_ids(1, 100);
  for (uint64_t turn = 0; turn < 10; ++turn) {
    const auto request = retained_ids(chain, 10);
    const wire::Final final = daemon.exact(request);
    EXPECT_EQ(final.usage.reused_tokens, turn == 0 ? 0 : std::ssize(chain) - 31) << turn;
    EXPECT_LE(daemon.states_on_disk(), 2u);
    chain = after(request, final, 10 + turn);
    daemon.restart();
  }
}

TEST(StoredStates, of_a_deleted_output_are_gone_when_the_delete_is_answered) {
  HybridDiskWorld daemon;
  wire::GenerateRequest request = testing::prompt_request(std::string(100, 'a'), 40);
  request.retain_output = true;
  const wire::Final final = daemon.answer(request);
  const Ids prompt(100, 'a');
  const auto next = ids_request(joined(joined(prompt, final.token_ids), some_ids(1, 20)), 1);
  // How many tokens are before the deepest state on disk.
  const auto deepest = [&] {
    const auto states = daemon.states().of_model(testing::hybrid_model().root_key(""));
    EXPECT_TRUE(testing::ok(states));
    int64_t most = 0;
    for (const StoredPage& state : *states) most = std::max(most, end_of(state));
    return most;
  };
  EXPECT_GT(deepest(), 100);
  daemon.world().one<wire::ChunkReply>(
      daemon.world().send(wire::ChunkDelete{final.output_chunk_id}));
  EXPECT_LE(deepest(), 100);
  daemon.restart();
  EXPECT_LE(daemon.exact(next).usage.reused_tokens, 100);
}

TEST(StoredStates, are_counted) {
  HybridDiskWorld daemon;
  const auto request = retained_ids(some_ids(1, 100), 40);
  const wire::Final final = daemon.answer(request);
  const auto counts = [&] { return daemon.world().status().states.value_or(wire::StateStats{}); };
  EXPECT_EQ(counts().states_kept, counts().states_used);
  EXPECT_EQ(counts().on_disk, static_cast<int64_t>(daemon.states_on_disk()));
  EXPECT_EQ(counts().written, counts().on_disk);
  EXPECT_EQ(counts().loaded, 0);
  daemon.restart();
  EXPECT_EQ(counts().states_kept, 0);
  EXPECT_EQ(counts().on_disk, static_cast<int64_t>(daemon.states_on_disk()));
  daemon.answer(ids_request(after(request, final, 7), 3));
  EXPECT_EQ(counts().loaded, 1);
  testing::SchedulerWorld other;
  EXPECT_FALSE(other.status().states);
}

TEST(StoredStates, that_are_damaged_are_computed_again) {
  HybridDiskWorld daemon;
  const auto request = retained_ids(some_ids(1, 100), 40);
  const wire::Final final = daemon.answer(request);
  const size_t before = daemon.states_on_disk();
  daemon.restart();
  std::vector<uint8_t>& file = daemon.disk().bytes("/state/states/kv/00000001.kv");
  for (size_t at = 3 * 4096; at < file.size(); at += 512) file[at] ^= 1;
  const auto next = ids_request(after(request, final, 7), 3);
  EXPECT_EQ(daemon.exact(next).usage.reused_tokens, 0);
  EXPECT_LT(daemon.states_on_disk(), before);
  EXPECT_EQ(daemon.exact(next).usage.reused_tokens, std::ssize(next.prompt_token_ids) - 1);
}

TEST(StoredStates, that_are_missing_are_why_a_prompt_is_computed) {
  HybridDiskWorld daemon;
  const auto request = retained_ids(some_ids(1, 100), 40);
  const auto next = ids_request(after(request, daemon.answer(request), 7), 3);
  daemon.restart();
  std::vector<uint8_t>& file = daemon.disk().bytes("/state/states/kv/00000001.kv");
  std::ranges::fill(file, 0);
  const Miss miss = daemon.answer(next).usage.miss;
  EXPECT_EQ(miss, (Miss{MissReason::kNoState, 0}));
}

TEST(StoredStates, leave_an_earlier_one_to_go_on_from_if_the_deepest_is_damaged) {
  HybridDiskWorld daemon;
  const auto first = retained_ids(some_ids(1, 100), 40);
  const auto second = retained_ids(after(first, daemon.answer(first), 7), 40);
  const wire::Final final = daemon.answer(second);
  const auto states = daemon.states().of_model(testing::hybrid_model().root_key(""));
  ASSERT_TRUE(testing::ok(states));
  const StoredPage deepest = *std::ranges::max_element(*states, {}, end_of);
  daemon.restart();
  daemon.disk().bytes("/state/states/kv/00000001.kv")[deepest.place.offset + 5000] ^= 1;
  const wire::Final next = daemon.exact(ids_request(after(second, final, 8), 3));
  EXPECT_LT(next.usage.reused_tokens, end_of(deepest));
  EXPECT_GE(next.usage.reused_tokens, 139);
}

TEST(StoredStates, are_checked_and_repaired_with_the_pages) {
  HybridDiskWorld daemon;
  daemon.answer(retained_ids(some_ids(1, 100), 40));
  const size_t states = daemon.states_on_disk();
  const auto check = [&](bool repair) {
    const uint64_t number = daemon.world().send(wire::FsckRequest{repair, ""});
    while (daemon.world().idle_store()) {
    }
    return daemon.world().one<wire::FsckReply>(number);
  };
  const wire::FsckReply sound = check(/*repair=*/false);
  EXPECT_EQ(sound.found, 0);
  EXPECT_EQ(sound.pages, static_cast<int64_t>(3 + states));
  daemon.disk().bytes("/state/states/kv/00000001.kv")[2 * 4096 + 5] ^= 1;
  const wire::FsckReply repaired = check(/*repair=*/true);
  ASSERT_EQ(repaired.findings.size(), 1u);
  EXPECT_TRUE(repaired.findings[0].where.starts_with("states: kv file 1"))
      << repaired.findings[0].where;
  EXPECT_TRUE(repaired.findings[0].repaired);
  EXPECT_EQ(daemon.states_on_disk(), states - 1);
  EXPECT_EQ(check(/*repair=*/false).found, 0);
}

// Lets the request of `next` come so far that its state is being read.
uint64_t post_and_load(HybridDiskWorld& daemon, const wire::GenerateRequest& next) {
  daemon.world().store_at_once = false;
  const uint64_t number = daemon.world().post(next);
  for (int i = 0; i < 20 && daemon.world().next_job<wire::LoadState>() == nullptr; ++i) {
    daemon.world().pump(1);
  }
  EXPECT_NE(daemon.world().next_job<wire::LoadState>(), nullptr);
  return number;
}

TEST(StoredStates, that_nobody_waits_for_any_more_are_not_kept_in_memory) {
  HybridDiskWorld daemon;
  const auto request = retained_ids(some_ids(1, 100), 40);
  const auto next = ids_request(after(request, daemon.answer(request), 7), 3);
  daemon.restart();
  const int64_t used = daemon.world().status_now().kv_pages_used;
  const uint64_t number = post_and_load(daemon, next);
  daemon.world().send(wire::CancelRequest{testing::request_id(number)});
  EXPECT_EQ(daemon.world().one<wire::Final>(number).finish_reason, "cancelled");
  EXPECT_EQ(daemon.world().status_now().kv_pages_used, used);
  daemon.exact(next);
}

TEST(StoredStates, are_read_again_after_a_restart_of_the_store) {
  HybridDiskWorld daemon;
  const auto request = retained_ids(some_ids(1, 100), 40);
  const auto next = ids_request(after(request, daemon.answer(request), 7), 3);
  daemon.restart();
  const uint64_t number = post_and_load(daemon, next);
  daemon.world().restart(Actor::kStore);
  daemon.world().pump();
  const auto final = daemon.world().one<wire::Final>(number);
  EXPECT_EQ(final.usage.reused_tokens, 139);
  testing::expect_cold_bits(next, final);
}

// A request that goes on after a retained output, given as tokens, and the output's id.
std::pair<wire::GenerateRequest, std::string> prompt_after_output(HybridDiskWorld& daemon) {
  wire::GenerateRequest request = testing::prompt_request(std::string(100, 'a'), 40);
  request.retain_output = true;
  const wire::Final first = daemon.answer(request);
  const Ids chain = joined(Ids(100, 'a'), first.token_ids);
  return {ids_request(joined(chain, some_ids(1, 20)), 1), first.output_chunk_id};
}

TEST(StoredStates, of_an_output_that_is_deleted_while_they_are_read_do_not_come_back) {
  for (const bool in_memory : {false, true}) {
    for (const bool cancelled : {false, true}) {
      HybridDiskWorld daemon("qwen3-5", /*state_slots=*/3);
      const auto [next, output] = prompt_after_output(daemon);
      if (in_memory) {  // K and V are, the state is not
        for (uint64_t i = 2; i < 6; ++i) daemon.answer(ids_request(some_ids(i, 50), 1));
      } else {
        daemon.restart();
      }
      const uint64_t number = post_and_load(daemon, next);
      const uint64_t removal = daemon.world().post(wire::ChunkDelete{output});
      if (cancelled) daemon.world().send(wire::CancelRequest{testing::request_id(number)});
      daemon.world().pump();
      daemon.world().one<wire::ChunkReply>(removal);
      daemon.world().store_at_once = true;
      const auto final = daemon.world().one<wire::Final>(number);
      EXPECT_LE(final.usage.reused_tokens, 100);
      if (cancelled) {
        EXPECT_LE(daemon.exact(next).usage.reused_tokens, 100);
      } else {
        testing::expect_cold_bits(next, final);
      }
      EXPECT_EQ(daemon.world().status().states->loaded, 0);
    }
  }
}

TEST(StoredStates, are_brought_back_for_no_more_requests_than_run_together) {
  HybridDiskWorld daemon("qwen3-5", /*state_slots=*/6);
  std::vector<wire::GenerateRequest> next;
  for (uint64_t i = 0; i < 8; ++i) {
    const auto request = retained_ids(some_ids(i, 100), 10);
    next.push_back(ids_request(after(request, daemon.answer(request), i), 3));
  }
  daemon.restart();
  daemon.world().store_at_once = false;
  int64_t asked = 0, most = 0;
  daemon.world().on_outgoing = [&](const Outgoing& out) {
    asked += std::holds_alternative<wire::LoadState>(out.envelope.message) ? 1 : 0;
    most = std::max(most, asked);
  };
  const auto set_speed = daemon.world().tamper;
  daemon.world().tamper = [&](wire::Message& answer) {
    set_speed(answer);
    asked -= std::holds_alternative<wire::StateLoaded>(answer) ? 1 : 0;
  };
  std::vector<uint64_t> numbers;
  for (const auto& request : next) numbers.push_back(daemon.world().post(request));
  daemon.world().pump();
  EXPECT_GE(most, 2);
  EXPECT_LE(most, 4) << "three places, and one of the reserve";
  for (size_t i = 0; i < next.size(); ++i) {
    const auto final = daemon.world().one<wire::Final>(numbers[i]);
    EXPECT_EQ(final.usage.loaded_tokens, 109);
    testing::expect_cold_bits(next[i], final);
  }
}

TEST(StoredStates, of_pinned_outputs_are_brought_back_in_idle_time) {
  HybridDiskWorld daemon;
  const auto request = retained_ids(some_ids(1, 100), 40);
  const wire::Final final = daemon.answer(request);
  wire::ChunkUpdate pin;
  pin.id = final.output_chunk_id;
  pin.pinned = true;
  daemon.world().one<wire::ChunkReply>(daemon.world().send(pin));
  daemon.restart();
  daemon.world().pump();
  EXPECT_EQ(daemon.world().status().states->loaded, 1);
  const wire::Final next = daemon.exact(ids_request(after(request, final, 7), 3));
  EXPECT_EQ(next.usage.reused_tokens, 139);
  EXPECT_EQ(next.usage.loaded_tokens, 0);
}

TEST(StoredStates, are_written_again_after_a_restart_of_the_store) {
  HybridDiskWorld daemon("qwen3-5", /*state_slots=*/3);
  daemon.world().store_at_once = false;
  const auto request = retained_ids(some_ids(1, 100), 40);
  const uint64_t number = daemon.world().post(request);
  while (daemon.world().next_job<wire::StoreState>() == nullptr) {
    ASSERT_EQ(daemon.world().pump(1), 1u);
  }
  daemon.world().restart(Actor::kStore);
  daemon.world().pump();
  const wire::Final final = daemon.world().one<wire::Final>(number);
  EXPECT_GT(daemon.states_on_disk(), 0u);
  const auto next = ids_request(after(request, final, 7), 3);
  EXPECT_EQ(daemon.exact(next).usage.reused_tokens, 139);
  daemon.restart();
  EXPECT_EQ(daemon.exact(next).usage.reused_tokens, 139);
}

TEST(StoredStates, that_the_disk_refused_are_written_later) {
  HybridDiskWorld daemon;
  bool refuse = true;
  const auto set_speed = daemon.world().tamper;
  daemon.world().tamper = [&](wire::Message& answer) {
    set_speed(answer);
    auto* stored = std::get_if<wire::StateStored>(&answer);
    if (stored != nullptr && refuse)
      *stored = {stored->job, false, Error{ErrorCode::kIo, "", "no"}};
  };
  const auto request = retained_ids(some_ids(1, 100), 40);
  const wire::Final final = daemon.answer(request);
  EXPECT_EQ(daemon.world().status().states->on_disk, 0);
  EXPECT_EQ(daemon.world().status().warnings.size(), 1u);
  refuse = false;
  daemon.world().clock.advance_us(3'000'000);
  daemon.world().core().on_tick();
  daemon.world().pump();
  EXPECT_GT(daemon.world().status().states->on_disk, 0);
  EXPECT_TRUE(daemon.world().status().warnings.empty());
}

// Expects that for each state on disk, a page on disk has its tokens.
void expect_covered(HybridDiskWorld& daemon) {
  const Digest model = testing::hybrid_model(daemon.name()).root_key("");
  const auto states = daemon.states().of_model(model);
  const auto pages = daemon.store().kv().pages(model);
  ASSERT_TRUE(testing::ok(states) && testing::ok(pages));
  for (const StoredPage& state : *states) {
    const Ids& tokens = state.header.token_ids;
    EXPECT_TRUE(std::ranges::any_of(*pages, [&](const StoredPage& page) {
      return page.header.parent == state.header.parent &&
             common_prefix(page.header.token_ids, tokens) == tokens.size();
    }));
  }
}

// Prompts that go on from each other in any way, some of them kept, cancelled or deleted, with
// little memory, a small budget on disk, and kills at any time.
TEST(StoredStates, any_mixture_of_requests_and_kills_has_the_bits_of_cold_prompts) {
  Random random(testing::test_seed());
  SchedulerOptions options = testing::bursts_of(3);
  options.requests_running_max = 3;
  options.planner.slice_tokens_max = 50;
  HybridDiskWorld daemon(testing::hybrids_of_each_kind()[random.below(3)], 3 + random.below(6),
                         options, 14 + random.below(30));
  daemon.states_options.disk_bytes_max =
      4096 + (2 + random.below(20)) * daemon.state_record_bytes();
  std::vector<Ids> chains = {some_ids(random.below(1000), 90)};
  std::vector<std::string> outputs;
  int64_t loaded = 0;
  for (int round = 0; round < 30; ++round) {
    daemon.world().store_at_once = random.below(2) == 0;
    std::vector<std::pair<uint64_t, wire::GenerateRequest>> sent;
    for (uint64_t i = 0; i <= random.below(4); ++i) {
      const Ids prompt = testing::random_prompt(random, chains, /*cuts=*/3);
      sent.emplace_back(0, ids_request(prompt, 1 + int32_t(random.below(12))));
      sent.back().second.retain_output = random.below(4) != 0;
      sent.back().first = daemon.world().post(sent.back().second);
      daemon.world().pump(random.below(6));
    }
    if (random.below(4) == 0) {
      daemon.world().send(wire::CancelRequest{testing::request_id(sent[0].first)});
    }
    if (random.below(5) == 0) {
      daemon.restart();
      continue;
    }
    if (random.below(4) == 0 && !outputs.empty()) {
      daemon.world().post(wire::ChunkDelete{outputs[random.below(outputs.size())]});
    }
    daemon.world().pump();
    for (const auto& [number, request] : sent) {
      const auto finals = daemon.world().all<wire::Final>(number);
      ASSERT_EQ(finals.size(), 1u) << daemon.world().error(number).to_string();
      if (finals[0].finish_reason == "cancelled") continue;
      testing::expect_cold_bits(request, finals[0], daemon.name());
      loaded += finals[0].usage.loaded_tokens;
      chains.push_back(joined(request.prompt_token_ids, finals[0].token_ids));
      if (!finals[0].output_chunk_id.empty()) outputs.push_back(finals[0].output_chunk_id);
    }
    daemon.world().store_at_once = true;
    daemon.world().pump();
    expect_covered(daemon);
    if (random.below(6) == 0) daemon.restart();
  }
  std::cout << loaded << " tokens were loaded\n";
}

}  // namespace
}  // namespace cascade
