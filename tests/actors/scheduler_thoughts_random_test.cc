// Any mixture of exact and approximate requests of several tenants, of deletes, cancels, failures
// and restarts, with little memory: an exact request never sees a token that was computed after a
// thought that its prompt leaves out, and its answer is the one that its prompt has alone. In place
// of the model, K and V are proofs of the tokens that they were computed from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "tests/actors/scheduler_world.h"
#include "tests/long_tests.h"
#include "tests/persist/memory_disk.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::demo_model;
using testing::SchedulerWorld;
using Ids = std::vector<int32_t>;

// A token's K and V: a digest of all tokens up to it, and where it stands.
struct TokenProof {
  uint64_t value = 0;
  int32_t place = -1;     // in its chain
  int32_t rope = -1;      // the position that its key was rotated to
  int32_t was_moved = 0;  // its thoughts are gone
  int32_t unused = 0;
};

// Answers like a model that thinks: what it says next depends on all tokens before.
class ThinkingModel {
 public:
  explicit ThinkingModel(const PageArena& arena) : arena_(arena) {
    const Tokenizer& tokenizer = demo_model().tokenizer;
    for (const char* word :
         {" the",  " of",   " and",  " to", " in",   " is",  " that", " it", " was",
          " for",  " on",   " are",  " as", " with", " his", " they", " at", " be",
          " this", " from", " have", " or", " by",   " one", " had",  " not"}) {
      const Ids ids = *tokenizer.encode(word, false, false);
      if (ids.size() == 1) words_.push_back(ids[0]);
    }
    breaks_ = tokenizer.encode("\n\n", false, false)->at(0);
    think_ = *tokenizer.think_tokens();
    end_ = demo_model().generation.end_tokens.at(0);
    CHECK(words_.size() > 10);
  }

  wire::PrefillDone prefill(const wire::PrefillJob& job) {
    wire::PrefillDone done;
    done.job = job.job;
    done.compute_us = 1000;
    if (job.moved) {
      move(job);
      return done;
    }
    TokenProof last = before(job.pages, job.position, job.free_positions);
    for (const int32_t token : job.token_ids) {
      last = feed(job.pages, last, token, job.free_positions);
    }
    done.token = next_token(last.value);
    return done;
  }
  wire::DecodeDone decode(const wire::DecodeJob& job) {
    wire::DecodeDone done;
    done.job = job.job;
    done.compute_us = 1000;
    done.steps = job.steps_max;
    for (const wire::DecodeSequence& sequence : job.sequences) {
      wire::DecodedSequence result;
      result.sequence = sequence.sequence;
      TokenProof last = before(sequence.pages, sequence.position, sequence.free_positions);
      int32_t token = sequence.token;
      for (int i = 0; i < std::min(job.steps_max, sequence.steps_max) && token != end_; ++i) {
        last = feed(sequence.pages, last, token, sequence.free_positions);
        token = next_token(last.value);
        result.token_ids.push_back(token);
        result.logprobs.push_back(0);
      }
      done.sequences.push_back(std::move(result));
    }
    return done;
  }
  // The answer to `prompt` of `count` tokens.
  Ids expected(const Ids& prompt, size_t count) {
    uint64_t value = 0;
    for (const int32_t token : prompt) value = note(value, token);
    Ids answer;
    while (answer.size() < count) {
      answer.push_back(next_token(value));
      value = note(value, answer.back());
    }
    return answer;
  }

 private:
  struct Known {
    uint64_t before;
    int32_t token;
  };

  uint64_t note(uint64_t before, int32_t token) {
    uint64_t mixed = before ^ static_cast<uint64_t>(token + 1) << 32;
    mixed = (mixed ^ mixed >> 31) * 0x9e3779b97f4a7c15;
    mixed ^= mixed >> 29;
    known_[mixed] = {before, token};
    return mixed;
  }
  bool is_word(int32_t token) const { return std::ranges::find(words_, token) != words_.end(); }
  int32_t next_token(uint64_t value) const {
    const int32_t last = known_.at(value).token;
    const int32_t word = words_[value % words_.size()];
    if (last == think_.close) return breaks_;
    if (last == think_.open || last == breaks_) return word;
    if (!is_word(last)) return value % 3 == 0 ? word : think_.open;
    bool thinks = false;
    for (uint64_t at = value; at != 0; at = known_.at(at).before) {
      thinks = known_.at(at).token == think_.open;
      if (!is_word(known_.at(at).token)) break;
    }
    if (thinks) return value % 16 == 0 ? think_.close : word;
    return value % 24 == 0 ? end_ : word;
  }

  uint8_t* place(const std::vector<uint32_t>& pages, int64_t at) {
    const KvLayout& layout = demo_model().kv_layout;
    const size_t row = layout.parts[0].value_block_bytes / kPageTokens;
    EXPECT_GE(row, sizeof(TokenProof));
    return arena_.data(pages.at(static_cast<size_t>(at / kPageTokens))) +
           layout.value_offset(0, 0) + static_cast<size_t>(at % kPageTokens) * row;
  }
  TokenProof read(const std::vector<uint32_t>& pages, int64_t at) {
    TokenProof proof;
    std::memcpy(&proof, place(pages, at), sizeof proof);
    return proof;
  }
  void write(const std::vector<uint32_t>& pages, const TokenProof& proof) {
    std::memcpy(place(pages, proof.place), &proof, sizeof proof);
  }
  TokenProof feed(const std::vector<uint32_t>& pages, const TokenProof& last, int32_t token,
                  int64_t free) {
    const TokenProof proof = {note(last.value, token), last.place + 1,
                              last.place + 1 + static_cast<int32_t>(free)};
    write(pages, proof);
    return proof;
  }
  // The proof of the token before `position`, after a look at all tokens of the chain: each was
  // computed after the one before it, or was moved to where it is.
  TokenProof before(const std::vector<uint32_t>& pages, int64_t position, int64_t free) {
    if (position == 0) return {};
    const TokenProof last = read(pages, position - 1);
    EXPECT_LT(last.rope, position + free);
    std::optional<TokenProof> after;
    for (int64_t at = position - 1; at >= 0; --at) {
      const TokenProof proof = read(pages, at);
      EXPECT_EQ(proof.place, at);
      EXPECT_GE(proof.rope, proof.place);
      if (!known_.contains(proof.value)) {
        ADD_FAILURE() << "nobody computed token " << at << " of " << position;
        break;
      }
      if (after) {
        EXPECT_LT(proof.rope, after->rope);
        const bool follows = known_.at(after->value).before == proof.value;
        EXPECT_TRUE(follows || after->was_moved) << at << " of " << position;
      }
      after = proof;
    }
    return last;
  }
  void move(const wire::PrefillJob& job) {
    for (size_t i = 0; i < job.token_ids.size(); ++i) {
      TokenProof proof = read(job.moved->pages, job.moved->begin + static_cast<int64_t>(i));
      EXPECT_EQ(known_.at(proof.value).token, job.token_ids[i]);
      proof.place = static_cast<int32_t>(job.position + static_cast<int64_t>(i));
      proof.rope += static_cast<int32_t>(job.moved->turn);
      proof.was_moved = 1;
      write(job.pages, proof);
    }
  }

  const PageArena& arena_;
  std::unordered_map<uint64_t, Known> known_;
  Ids words_;
  int32_t breaks_ = 0;
  int32_t end_ = 0;
  ThinkTokens think_;
};

class RandomThoughts : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr size_t kPages = 48;
  struct Asked {
    wire::GenerateRequest request;
    std::string tenant;
    std::string question;
  };
  struct Output {
    std::string tenant;
    std::string id;
    ThinkPolicy policy;
  };

  static SchedulerOptions options() {
    SchedulerOptions options = testing::bursts_of(8);
    options.planner.slice_tokens_max = 128;
    options.keep_pages = GetParam();
    options.max_pinned = 0.4;
    options.requests_running_max = 4;
    return options;
  }
  std::unique_ptr<Store> open_store() {
    return GetParam() ? *Store::open(disk_, "/state") : nullptr;
  }
  void SetUp() override {
    world_.prefill = [this](const auto& job) { return model_.prefill(job); };
    world_.decode = [this](const auto& job) { return model_.decode(job); };
    world_.core().on_actor_started(testing::Actor::kGateway, "alice");
    world_.on_outgoing = [this](const Outgoing& message) {
      const auto* job = std::get_if<wire::EncodeJob>(&message.envelope.message);
      if (job == nullptr || job->mode != wire::EncodeJob::Mode::kPrompt) return;
      questions_[job->job] = job->messages.back().content;
    };
    world_.tamper = [this](wire::Message& message) {
      const auto* done = std::get_if<wire::EncodeDone>(&message);
      if (done == nullptr || !questions_.contains(done->job)) return;
      prompts_[questions_.at(done->job)] = done->token_ids;
    };
  }

  bool one_in(uint64_t n) { return random_.below(n) == 0; }
  void ask() {
    static constexpr ThinkPolicy kPolicies[] = {
        ThinkPolicy::kReprefill, ThinkPolicy::kKeep, ThinkPolicy::kDrop, ThinkPolicy::kSplice,
        ThinkPolicy::kSplice,    ThinkPolicy::kMask, ThinkPolicy::kMask};
    Asked asked;
    wire::GenerateRequest& request = asked.request;
    asked.tenant = one_in(4) ? "alice" : kLocalTenant;
    asked.question = "question " + std::to_string(++questions_asked_) + " about";
    for (uint64_t i = random_.below(40); i > 0; --i) asked.question += " it";
    const auto own = [&](const Output& output) { return output.tenant == asked.tenant; };
    std::vector<Output> known;
    std::ranges::copy_if(outputs_, std::back_inserter(known), own);
    request.think_policy = kPolicies[random_.below(std::size(kPolicies))];
    if (!known.empty() && !one_in(6)) {
      const Output& last = one_in(2) ? known.back() : known[random_.below(known.size())];
      request.previous_output = last.id;
      if (!one_in(4)) request.think_policy = last.policy;
    } else if (one_in(2)) {
      request.chunks.push_back(testing::system_text(testing::long_text("system", 20)));
    }
    request.chunks.push_back(testing::query_text(asked.question));
    request.on_missing = OnMissing::kSkip;
    request.sampling.temperature = 0;
    request.max_tokens = 1 + static_cast<int32_t>(random_.below(one_in(4) ? 20 : 200));
    request.retain_output = !one_in(5);
    if (one_in(3)) request.heal = one_in(2);
    if (request.retain_output && one_in(30)) request.output_pinned = true;
    if (one_in(10)) request.reuse = false;
    const uint64_t number = world_.post(request, "client", asked.tenant);
    asked_.emplace(number, std::move(asked));
  }
  void check(const Asked& asked, const wire::Final& final) {
    if (final.token_ids.empty()) return;  // cancelled before it began
    const Approximation allowed = approximation_of(*asked.request.think_policy);
    if (final.approximation == Approximation::kNone) {
      const auto prompt = prompts_.find(asked.question);
      ASSERT_NE(prompt, prompts_.end());
      EXPECT_EQ(final.token_ids, model_.expected(prompt->second, final.token_ids.size()));
      EXPECT_EQ(final.usage.approximate_tokens, 0);
      ++exact_;
    } else {
      EXPECT_EQ(final.approximation, allowed);
      EXPECT_GT(final.usage.approximate_tokens, 0);
      ++approximate_;
    }
    // Conversations stay short enough that none has to be read from disk piece by piece.
    const int64_t tokens = final.usage.prompt_tokens + final.usage.completion_tokens;
    if (final.output_chunk_id.empty() || tokens > 700) return;
    outputs_.push_back({asked.tenant, final.output_chunk_id, *asked.request.think_policy});
    if (outputs_.size() > 12) outputs_.erase(outputs_.begin());
  }
  void check_answers() {
    std::erase_if(asked_, [this](const auto& item) {
      const auto finals = world_.all<wire::Final>(item.first);
      const auto errors = world_.all<wire::ErrorReply>(item.first);
      if (!finals.empty()) check(item.second, finals[0]);
      for (const wire::ErrorReply& error : errors) {
        const ErrorCode code = error.error.code;
        const bool is_expected =
            code == ErrorCode::kResourceExhausted || code == ErrorCode::kNotFound || failures_ > 0;
        EXPECT_TRUE(is_expected) << error.error.to_string();
      }
      return !finals.empty() || !errors.empty();
    });
  }
  void restart() {
    world_.pump();
    check_answers();
    asked_.clear();
    world_.start_scheduler();
    world_.core().on_actor_started(testing::Actor::kGateway, "alice");
    if (!GetParam()) outputs_.clear();
  }
  void step() {
    switch (random_.below(14)) {
      case 0:
      case 1:
      case 2:
      case 3: ask(); break;
      case 4:
        if (outputs_.empty() || !one_in(3)) break;
        {
          const Output output = outputs_[random_.below(outputs_.size())];
          world_.post(wire::ChunkDelete{output.id, "", true}, "client", output.tenant);
        }
        break;
      case 5:
        if (asked_.empty() || !one_in(3)) break;
        world_.post(wire::CancelRequest{testing::request_id(asked_.begin()->first)}, "client",
                    asked_.begin()->second.tenant);
        break;
      case 6:
        if (!one_in(20)) break;
        ++failures_;
        world_.restart(testing::Actor::kPrefill);
        break;
      case 7:
        if (one_in(30)) restart();
        break;
      default: world_.pump(random_.below(30));
    }
    world_.core().on_tick();
    check_answers();
  }

  Random random_{testing::test_seed()};
  testing::MemoryDisk disk_;
  std::unique_ptr<Store> store_ = open_store();
  SchedulerWorld world_{options(), kPages, store_.get()};
  ThinkingModel model_{world_.arena()};
  std::map<uint64_t, Asked> asked_;
  std::map<uint64_t, std::string> questions_;  // by job
  std::map<std::string, Ids> prompts_;         // by question
  std::vector<Output> outputs_;
  int questions_asked_ = 0;
  int failures_ = 0;
  int exact_ = 0;
  int approximate_ = 0;
};

TEST_P(RandomThoughts, exact_requests_see_exact_k_and_v_only) {
  const int steps = testing::long_or(40'000, 1500);
  for (int i = 0; i < steps && !HasFailure(); ++i) step();
  world_.pump();
  check_answers();
  EXPECT_TRUE(asked_.empty());
  EXPECT_GT(exact_, steps / 30);
  EXPECT_GT(approximate_, steps / 200);
  for (const std::string& tenant : {std::string(kLocalTenant), std::string("alice")}) {
    const uint64_t number = world_.send(wire::ChunkListRequest{}, "client", tenant);
    for (const Chunk& chunk : world_.one<wire::ChunkListReply>(number).chunks) {
      wire::ChunkUpdate unpin;
      unpin.id = chunk.id;
      unpin.pinned = false;
      for (bool pinned = chunk.pinned; pinned;) {  // each holder may have a pin of its own
        const uint64_t update = world_.send(unpin, "client", tenant);
        pinned = world_.one<wire::ChunkReply>(update).chunk.pinned;
      }
      world_.send(wire::ChunkDelete{chunk.id, "", /*all=*/true}, "client", tenant);
    }
  }
  const wire::CacheStats left = testing::cache_stats(world_);
  EXPECT_EQ(left.pages_pinned, 0);
  EXPECT_EQ(left.pages_held, 0);
  EXPECT_EQ(world_.status().reprefills_pending, 0);
}

INSTANTIATE_TEST_SUITE_P(Daemons, RandomThoughts, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "durable" : "in_memory"; });

}  // namespace
}  // namespace cascade
