// Chains that are computed when there is nothing else to do.
#include "actors/scheduler/idle_prefill.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::first_of;
using testing::Tokens;

class IdlePrefillTest : public testing::RoomTest {
 protected:
  static constexpr int kReprefillsMax = 2;
  static constexpr size_t kStateBytes = 1000;
  static constexpr int32_t kEndToken = 999;

  explicit IdlePrefillTest(size_t state_slots = 0) : RoomTest(8, state_slots) {
    add("output_a", ChunkType::kOutput);
    add("output_b", ChunkType::kOutput);
  }

  static Reprefill of(const std::string& id, Tokens chain) {
    Reprefill reprefill;
    reprefill.tenant = "alice";
    reprefill.chunk_id = id;
    reprefill.chain = reprefill.sampled_chain = std::move(chain);
    return reprefill;
  }
  // A chain after which at most three tokens are written.
  static Reprefill with_draft(const std::string& id, Tokens chain) {
    Reprefill reprefill = of(id, std::move(chain));
    reprefill.draft.emplace().tokens_max = 3;
    reprefill.draft->end_tokens = {kEndToken};
    return reprefill;
  }
  // Computes the first chain up to `end` tokens.
  void compute_to(int64_t end) {
    ASSERT_TRUE(idle_.start());
    const wire::PrefillJob job = idle_.slice(end);
    idle_.ended(job.token_ids, SliceEnd::kComputed);
  }

  SpeedEstimate speed_;
  PageLoader loader_{jobs_,
                     outbox_,
                     memory_.index,
                     stored_,
                     kPageBytes,
                     speed_,
                     [this](uint64_t handle, std::span<const int32_t> tokens, bool more) {
                       return restores_.has(handle) ? restores_.loaded(handle, tokens, more)
                                                    : idle_.loaded(tokens, more);
                     }};
  ChainRestores restores_{kStateBytes,
                          clock_,
                          jobs_,
                          outbox_,
                          caches_,
                          stored_,
                          stored_states_,
                          loader_,
                          {.is_wanted = [this](uint64_t) { return !idle_.is_gone(); },
                           .ended = [this](uint64_t, int64_t) { idle_.restored(); }}};
  std::vector<std::pair<std::string, bool>> ended_;
  size_t lost_ = 0;
  Tokens drafted_;  // of the chain that ended
  IdlePrefill idle_{{.reprefills_max = kReprefillsMax, .slice_tokens_max = 128, .attention = {}},
                    clock_,
                    jobs_,
                    outbox_,
                    caches_,
                    tenants_,
                    registry_,
                    loader_,
                    restores_,
                    {.ended =
                         [this](Reprefill&& reprefill, bool complete) {
                           ended_.emplace_back(reprefill.chunk_id, complete);
                           if (reprefill.draft) drafted_ = reprefill.draft->sampled;
                         },
                     .lost = [this](IdlePrefill::Tokenizing&& lost) { lost_ += lost.size(); }}};
  using Ended = std::vector<std::pair<std::string, bool>>;
};

TEST_F(IdlePrefillTest, computes_the_first_in_slices) {
  EXPECT_FALSE(idle_.start()) << "there is nothing to do";
  idle_.push(of("output_a", count_up(0, 100)));
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob slice = idle_.slice(64);
  EXPECT_EQ(slice.position, 0);
  EXPECT_EQ(slice.token_ids, count_up(0, 64));
  EXPECT_TRUE(idle_.is_computed());
  EXPECT_FALSE(idle_.pause());
  idle_.ended(slice.token_ids, SliceEnd::kComputed);
  EXPECT_TRUE(ended_.empty());
  compute_to(100);
  EXPECT_EQ(ended_, (Ended{{"output_a", true}}));
  EXPECT_EQ(idle_.tokens_computed(), 100);
  EXPECT_EQ(memory_.index.match(alice_, count_up(0, 100)).tokens(), 100);
}

TEST_F(IdlePrefillTest, a_chain_that_is_in_memory_needs_no_slice) {
  idle_.push(of("output_a", count_up(0, 100)));
  compute_to(100);
  idle_.push(of("output_b", count_up(0, 100)));
  EXPECT_FALSE(idle_.start());
  EXPECT_EQ(ended_, (Ended{{"output_a", true}, {"output_b", true}}));
  EXPECT_EQ(idle_.tokens_computed(), 100);
}

TEST_F(IdlePrefillTest, a_chain_without_room_is_given_up) {
  idle_.push(of("output_a", count_up(0, 9 * 64)));
  EXPECT_FALSE(idle_.start());
  EXPECT_EQ(ended_, (Ended{{"output_a", false}}));
}

TEST_F(IdlePrefillTest, a_prompt_with_a_window_is_computed_again_only_for_a_pin) {
  const auto windowed = [](const std::string& id, size_t prompt_tokens) {
    Reprefill reprefill = of(id, count_up(0, 20 * kPageTokens));
    reprefill.attention = {kPageTokens, 0};
    reprefill.prompt_tokens = prompt_tokens;
    return reprefill;
  };
  idle_.push(windowed("output_a", 19 * kPageTokens));
  EXPECT_FALSE(idle_.start());
  EXPECT_EQ(ended_, (Ended{{"output_a", false}}));
  idle_.push(windowed("output_a", 2 * kPageTokens));
  EXPECT_TRUE(idle_.start()) << "most of it is the answer";
  idle_.ended({}, SliceEnd::kFailed);
  (*registry_.find_own("alice", "output_b"))->chunk.pinned = true;
  idle_.push(windowed("output_b", 19 * kPageTokens));
  for (int slice = 0; slice < 10; ++slice) {
    ASSERT_TRUE(idle_.start());
    const wire::PrefillJob job = idle_.slice(20 * kPageTokens);
    EXPECT_EQ(std::ssize(job.token_ids), 2 * kPageTokens) << "memory for more is not reserved";
    EXPECT_EQ(job.attention.window, kPageTokens);
    idle_.ended(job.token_ids, SliceEnd::kComputed);
  }
  EXPECT_EQ(ended_.back(), std::pair(std::string("output_b"), true));
}

TEST_F(IdlePrefillTest, a_slice_that_yielded_is_resumed) {
  idle_.push(of("output_a", count_up(0, 300)));
  compute_to(50);
  uint64_t latest = 0;
  for (const int64_t end : {200, 300, 60}) {
    ASSERT_TRUE(idle_.start());
    const wire::PrefillJob slice = idle_.slice(end);
    EXPECT_TRUE(slice.yields);
    EXPECT_EQ(slice.resumes, latest);
    EXPECT_EQ(slice.position, 50);
    EXPECT_EQ(slice.token_ids, count_up(50, 150)) << "the same tokens, whatever is asked for";
    latest = slice.job;
    if (end != 60) idle_.ended(slice.token_ids, SliceEnd::kYielded);
  }
  idle_.ended(count_up(50, 150), SliceEnd::kComputed);
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob next = idle_.slice(300);
  EXPECT_EQ(next.token_ids, count_up(200, 100));
  EXPECT_EQ(next.resumes, 0u);
}

TEST_F(IdlePrefillTest, a_slice_is_not_resumed_after_its_chain_gave_its_pages_back) {
  idle_.push(of("output_a", count_up(0, 300)));
  ASSERT_TRUE(idle_.start());
  idle_.ended(idle_.slice(200).token_ids, SliceEnd::kYielded);
  ASSERT_TRUE(idle_.pause());
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob again = idle_.slice(300);
  EXPECT_EQ(again.resumes, 0u);
  EXPECT_EQ(again.token_ids, count_up(0, 300));
}

TEST_F(IdlePrefillTest, one_of_many_slices_in_a_row_does_not_yield) {
  idle_.push(of("output_a", count_up(0, 300)));
  int yields = 0;
  while (true) {
    ASSERT_LT(yields, 1000);
    ASSERT_TRUE(idle_.start());
    const wire::PrefillJob slice = idle_.slice(200);
    if (!slice.yields) {
      idle_.ended(slice.token_ids, SliceEnd::kComputed);
      break;
    }
    idle_.ended(slice.token_ids, SliceEnd::kYielded);
    ASSERT_TRUE(idle_.pause()) << "also if each request needs the pages";
    ++yields;
  }
  EXPECT_GT(yields, 10);
  ASSERT_TRUE(idle_.start());
  EXPECT_TRUE(idle_.slice(300).yields);
}

TEST_F(IdlePrefillTest, a_slice_that_yielded_ends_its_chain_if_the_chunk_is_gone) {
  idle_.push(of("output_c", count_up(0, 64)));
  ASSERT_TRUE(idle_.start());
  idle_.ended(idle_.slice(64).token_ids, SliceEnd::kYielded);
  EXPECT_EQ(ended_, (Ended{{"output_c", false}}));
}

TEST_F(IdlePrefillTest, a_slice_that_failed_or_whose_chunk_is_gone_ends_it) {
  idle_.push(of("output_a", count_up(0, 64)));
  idle_.push(of("output_c", count_up(100, 64)));
  ASSERT_TRUE(idle_.start());
  (void)idle_.slice(64);
  idle_.ended({}, SliceEnd::kFailed);
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob slice = idle_.slice(64);
  idle_.ended(slice.token_ids, SliceEnd::kComputed);
  EXPECT_EQ(ended_, (Ended{{"output_a", false}, {"output_c", false}}));
  EXPECT_EQ(memory_.index.match(alice_, count_up(100, 64)).tokens(), 0);
}

TEST_F(IdlePrefillTest, a_pause_gives_the_pages_back_and_keeps_what_was_computed) {
  EXPECT_FALSE(idle_.pause());
  idle_.push(of("output_a", count_up(0, 200)));
  EXPECT_FALSE(idle_.pause()) << "it has no pages yet";
  compute_to(128);
  EXPECT_TRUE(idle_.pause());
  EXPECT_EQ(memory_.index.evictable_count(), 2u);
  ASSERT_TRUE(idle_.start());
  EXPECT_EQ(idle_.first().sequence->committed(), 128);
}

TEST_F(IdlePrefillTest, a_chain_with_a_draft_grows_by_each_token_until_an_end_token) {
  idle_.push(with_draft("output_a", count_up(0, 130)));
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob prompt = idle_.slice(1000);
  EXPECT_EQ(prompt.token_ids.size(), 129u) << "the last token has a slice of its own";
  EXPECT_FALSE(prompt.sample.has_value());
  idle_.ended(prompt.token_ids, SliceEnd::kComputed);
  int32_t last = 129;
  for (const int32_t token : {500, 501, kEndToken}) {
    ASSERT_TRUE(idle_.start());
    const wire::PrefillJob job = idle_.slice(1000);
    EXPECT_TRUE(job.sample.has_value());
    EXPECT_EQ(job.token_ids, Tokens{last});
    idle_.ended(job.token_ids, SliceEnd::kYielded);
    ASSERT_TRUE(idle_.start());
    EXPECT_EQ(idle_.slice(1000).resumes, job.job);
    idle_.ended(job.token_ids, SliceEnd::kComputed, token);
    last = token;
  }
  EXPECT_EQ(ended_, (Ended{{"output_a", true}}));
  EXPECT_EQ(drafted_, (Tokens{500, 501}));
  EXPECT_TRUE(idle_.queue().empty());
}

TEST_F(IdlePrefillTest, a_draft_ends_when_it_is_long_enough) {
  idle_.push(with_draft("output_a", count_up(0, 2)));
  compute_to(1000);
  for (int32_t token = 500; token < 503; ++token) {
    EXPECT_TRUE(ended_.empty());
    ASSERT_TRUE(idle_.start());
    idle_.ended(idle_.slice(1000).token_ids, SliceEnd::kComputed, token);
  }
  EXPECT_EQ(ended_, (Ended{{"output_a", true}}));
  EXPECT_EQ(drafted_, (Tokens{500, 501, 502}));
}

TEST_F(IdlePrefillTest, a_chain_with_a_draft_waits_for_others_and_goes_on_where_it_was) {
  idle_.push(with_draft("output_a", count_up(0, 130)));
  compute_to(1000);
  ASSERT_TRUE(idle_.start());
  idle_.ended(idle_.slice(1000).token_ids, SliceEnd::kComputed, 500);
  idle_.push(of("output_b", count_up(1000, 64)));
  compute_to(1000);
  EXPECT_EQ(ended_, (Ended{{"output_b", true}})) << "it came later, and is computed first";
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob job = idle_.slice(1000);
  EXPECT_EQ(job.position, 130);
  EXPECT_EQ(job.token_ids, Tokens{500});
  idle_.ended(job.token_ids, SliceEnd::kComputed, kEndToken);
  EXPECT_EQ(drafted_, Tokens{500});
}

TEST_F(IdlePrefillTest, a_stop_does_not_wait_for_a_draft) {
  idle_.push(with_draft("output_a", count_up(0, 2)));
  EXPECT_FALSE(idle_.any_to_write());
  idle_.push(of("output_b", count_up(1000, 64)));
  EXPECT_TRUE(idle_.any_to_write());
}

TEST_F(IdlePrefillTest, pages_for_all_tenants_are_computed_once) {
  Reprefill shared = of("output_a", count_up(0, 64));
  shared.for_all = true;
  idle_.push(std::move(shared));
  compute_to(64);
  EXPECT_EQ(memory_.index.match(kPublic, count_up(0, 64)).tokens(), 64);
}

TEST_F(IdlePrefillTest, drops_all_of_a_chunk_but_what_is_being_computed) {
  Reprefill text = of("output_b", count_up(0, 64));
  const Digest end = Hasher().field("end", "a").finish();
  text.text_end = end;
  idle_.push(of("output_a", count_up(0, 64)));
  idle_.push(std::move(text));
  idle_.push(of("output_a", count_up(200, 64)));
  EXPECT_TRUE(idle_.is_full());
  EXPECT_TRUE(idle_.has({"alice", "output_b"}));
  EXPECT_TRUE(idle_.has_text({"alice", "output_b"}, end));
  EXPECT_FALSE(idle_.has_text({"alice", "output_a"}, end));
  EXPECT_FALSE(idle_.has({"bob", "output_a"}));
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob slice = idle_.slice(64);
  EXPECT_EQ(idle_.drop({"alice", "output_a"}).size(), 1u);
  EXPECT_EQ(idle_.queue().size(), 2u);
  idle_.ended(slice.token_ids, SliceEnd::kComputed);
  EXPECT_EQ(idle_.drop({"alice", "output_b"}).size(), 1u);
  EXPECT_TRUE(idle_.queue().empty());
}

TEST_F(IdlePrefillTest, texts_are_tokenized_first) {
  Chunk prompt;
  prompt.id = "system_a";
  prompt.tenant = "alice";
  prompt.text = "Be brief.";
  ASSERT_TRUE(idle_.tokenize_prefix(prompt));
  const auto jobs = take<wire::EncodeJob>();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].messages.at(0).content, "Be brief.");
  EXPECT_EQ(jobs[0].mode, wire::EncodeJob::Mode::kHistory);
  idle_.push(of("output_a", count_up(0, 64)));
  EXPECT_FALSE(idle_.tokenize_prefix(prompt)) << "two wait";
  EXPECT_FALSE(idle_.tokenizes_many());
  EXPECT_EQ(idle_.take_tokenized(jobs[0].job)->chunk_id, "system_a");
  EXPECT_FALSE(idle_.take_tokenized(jobs[0].job).has_value());
}

TEST_F(IdlePrefillTest, a_restart_of_the_actor_loses_the_texts) {
  idle_.tokenize({}, of("output_a", {}));
  idle_.tokenize({}, of("output_b", {}));
  EXPECT_TRUE(idle_.tokenizes_many());
  jobs_.lose(Actor::kPrefill);
  EXPECT_EQ(lost_, 2u);
  EXPECT_TRUE(idle_.tokenizing().empty());
}

TEST_F(IdlePrefillTest, reads_what_is_on_disk) {
  const Tokens chain = count_up(0, 100);
  idle_.push(of("output_a", first_of(chain, 64)));
  compute_to(64);
  const Digest page = stored_.path_of(alice_, first_of(chain, 64)).at(0);
  memory_.index.drop_subtree(alice_, chain, 0, Removal::kDeleted);
  stored_.add(page, key_of(memory_.index.root()), 64);
  idle_.push(of("output_b", chain));
  EXPECT_FALSE(idle_.start()) << "it is being read";
  EXPECT_TRUE(idle_.is_loading());
  const auto loads = take<wire::LoadPages>();
  ASSERT_EQ(loads.size(), 1u);
  wire::LoadPagesDone done;
  done.job = loads[0].job;
  done.good = 1;
  loader_.on(done);
  EXPECT_FALSE(idle_.is_computed());
  ASSERT_TRUE(idle_.start());
  EXPECT_EQ(idle_.slice(100).position, 64);
}

class IdleStates : public IdlePrefillTest {
 protected:
  IdleStates() : IdlePrefillTest(/*state_slots=*/3) {}
  int64_t found(const Tokens& chain) { return states_.find(alice_, chain).tokens; }
};

TEST_F(IdleStates, the_state_at_the_end_of_a_chain_is_kept) {
  idle_.push(of("output_a", count_up(0, 100)));
  compute_to(64);
  compute_to(100);
  EXPECT_EQ(ended_, (Ended{{"output_a", true}}));
  EXPECT_EQ(found(count_up(0, 200)), 100);
}

TEST_F(IdleStates, a_slice_that_changes_a_state_does_not_yield) {
  idle_.push(of("output_a", count_up(0, 100)));
  ASSERT_TRUE(idle_.start());
  EXPECT_FALSE(idle_.slice(64).yields);
}

TEST_F(IdleStates, a_pause_keeps_the_state_that_was_reached) {
  idle_.push(of("output_a", count_up(0, 200)));
  compute_to(100);
  EXPECT_TRUE(idle_.pause());
  EXPECT_EQ(found(count_up(0, 200)), 100);
  EXPECT_EQ(states_.slots_used(), 1u);
  ASSERT_TRUE(idle_.start());
  EXPECT_EQ(idle_.first().sequence->committed(), 100);
}

TEST_F(IdleStates, a_chain_whose_pages_are_there_is_computed_for_its_state) {
  compute(count_up(0, 100), alice_);
  idle_.push(of("output_a", count_up(0, 100)));
  ASSERT_TRUE(idle_.start());
  EXPECT_EQ(idle_.first().sequence->committed(), 0);
  compute_to(100);
  EXPECT_EQ(found(count_up(0, 100)), 100);
}

TEST_F(IdleStates, a_chain_is_given_up_while_sequences_use_all_slots) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(states_.allocate());
  idle_.push(of("output_a", count_up(0, 100)));
  EXPECT_FALSE(idle_.start());
  EXPECT_EQ(ended_, (Ended{{"output_a", false}}));
}

}  // namespace
}  // namespace cascade
