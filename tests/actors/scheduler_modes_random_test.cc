// Any mixture of requests in all attention modes, of pins, deletes, preemptions and failures, with
// little memory: each job finds in its pages what its tokens see, each answer is the one that its
// prompt has alone, and nothing is left behind. In place of the model, K and V are proofs of the
// tokens that they were computed from.
#include <gtest/gtest.h>

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

using testing::SchedulerWorld;
using Ids = std::vector<int32_t>;

struct Proof {
  uint64_t value = 0;  // of all tokens up to this one, and of the mode
  int64_t position = -1;
};

// Computes proofs in place of K and V.
class ProofModel {
 public:
  explicit ProofModel(const PageArena& arena) : arena_(arena) {}

  wire::PrefillDone prefill(const wire::PrefillJob& job) {
    wire::PrefillDone done;
    done.job = job.job;
    done.compute_us = 1000;
    const AttentionMode& mode = job.attention;
    Proof last = before(job.pages, job.position, mode);
    for (const int32_t token : job.token_ids) last = feed(job.pages, last, token, mode);
    done.token = sampled(last);
    return done;
  }
  wire::DecodeDone decode(const wire::DecodeJob& job) {
    wire::DecodeDone done;
    done.job = job.job;
    done.compute_us = 1000;
    done.steps = job.steps_max;
    for (const wire::DecodeSequence& sequence : job.sequences) {
      const AttentionMode& mode = sequence.attention;
      wire::DecodedSequence result;
      result.sequence = sequence.sequence;
      Proof last = before(sequence.pages, sequence.position, mode);
      int32_t token = sequence.token;
      for (int i = 0; i < std::min(job.steps_max, sequence.steps_max); ++i) {
        last = feed(sequence.pages, last, token, mode);
        token = sampled(last);
        result.token_ids.push_back(token);
        result.logprobs.push_back(0);
      }
      if (!sequence.drafts.is_dense()) leave_drafts(sequence, last.position + 1);
      done.sequences.push_back(std::move(result));
    }
    return done;
  }
  // The answer to `prompt` of `count` tokens.
  static Ids expected(const Ids& prompt, const AttentionMode& mode, size_t count) {
    Proof last;
    for (const int32_t token : prompt) last = next(last, token, mode);
    Ids answer;
    while (answer.size() < count) {
      answer.push_back(sampled(last));
      last = next(last, answer.back(), mode);
    }
    return answer;
  }

 private:
  static Proof next(const Proof& last, int32_t token, const AttentionMode& mode) {
    uint64_t mixed = last.value ^ static_cast<uint64_t>(token) << 32 ^
                     static_cast<uint64_t>(mode.window * 1000 + mode.sinks + mode.selected + 1);
    mixed = (mixed ^ mixed >> 31) * 0x9e3779b97f4a7c15;
    return {mixed ^ mixed >> 29, last.position + 1};
  }
  static int32_t sampled(const Proof& last) {
    return static_cast<int32_t>(300 + last.value % 2000);
  }
  // Wrong drafts leave K and V wherever the sequence has promised room, from `position` on.
  void leave_drafts(const wire::DecodeSequence& sequence, int64_t position) {
    const Proof wrong;
    for (; position < sequence.position + sequence.steps_max; ++position) {
      if (uint8_t* at = place(sequence.pages, position)) std::memcpy(at, &wrong, sizeof wrong);
    }
  }
  uint8_t* place(const std::vector<uint32_t>& pages, int64_t position) {
    const uint32_t page = pages.at(static_cast<size_t>(position / kPageTokens));
    EXPECT_NE(page, wire::kUnseenPage) << position;
    if (page == wire::kUnseenPage) return nullptr;
    // The first bytes of the token's own values, which lie in one row (kernels/kv_format.h).
    const KvLayout& layout = testing::demo_model().kv_layout;
    const size_t row = layout.parts[0].value_block_bytes / kPageTokens;
    static_assert(sizeof(Proof) == 16);
    EXPECT_GE(row, sizeof(Proof));
    return arena_.data(page) + layout.value_offset(0, 0) + size_t(position % kPageTokens) * row;
  }
  Proof read(const std::vector<uint32_t>& pages, int64_t position) {
    Proof proof;
    if (const uint8_t* at = place(pages, position)) std::memcpy(&proof, at, sizeof proof);
    return proof;
  }
  // The proof of the token before `position`, after a look at all that tokens from there on see.
  Proof before(const std::vector<uint32_t>& pages, int64_t position, const AttentionMode& mode) {
    if (position == 0) return {};
    const Proof last = read(pages, position - 1);
    uint64_t value = last.value;
    const int64_t first_seen = mode.window > 0 ? position + 1 - mode.window : 0;
    for (int64_t at = position - 1; at >= 0; --at) {
      const bool is_seen = at >= first_seen || at < mode.sinks;
      if (is_seen) {
        const Proof stored = read(pages, at);
        EXPECT_EQ(stored.value, value) << at << " of " << position;
        EXPECT_EQ(stored.position, at);
        if (stored.value != value) break;
      }
      const auto known = parents_.find(value);
      if (known == parents_.end()) {
        ADD_FAILURE() << "nobody computed this";
        break;
      }
      value = known->second;
    }
    return last;
  }
  Proof feed(const std::vector<uint32_t>& pages, const Proof& last, int32_t token,
             const AttentionMode& mode) {
    const Proof proof = next(last, token, mode);
    parents_[proof.value] = last.value;
    if (uint8_t* at = place(pages, proof.position)) std::memcpy(at, &proof, sizeof proof);
    return proof;
  }

  const PageArena& arena_;
  std::unordered_map<uint64_t, uint64_t> parents_;
};

struct Shape {
  const char* name;
  AttentionMode mode;  // the daemon's
  bool durable;
};

class RandomModes : public ::testing::TestWithParam<Shape> {
 protected:
  struct Asked {
    wire::GenerateRequest request;
    AttentionChoice attention;
  };

  static constexpr size_t kPages = 48;
  static constexpr int64_t kAllTokensMax = 600;  // so that none becomes a reader

  SchedulerOptions options() {
    SchedulerOptions options = testing::bursts_of(16);
    options.planner.slice_tokens_max = 192;
    options.attention.mode = GetParam().mode;
    options.keep_pages = GetParam().durable;
    options.max_pinned = 0.4;
    options.requests_running_max = 4;
    return options;
  }
  std::unique_ptr<Store> open_store() {
    if (!GetParam().durable) return nullptr;
    auto opened = Store::open(disk_, "/state");
    EXPECT_TRUE(opened.ok());
    return *std::move(opened);
  }
  void SetUp() override {
    world_.prefill = [this](const auto& job) { return model_.prefill(job); };
    world_.decode = [this](const auto& job) { return model_.decode(job); };
    world_.core().on_actor_started(testing::Actor::kGateway, "alice");
  }

  bool one_in(uint64_t n) { return random_.below(n) == 0; }
  std::string some_tenant() { return one_in(4) ? "alice" : std::string(kLocalTenant); }
  std::string some_mode() {
    static const std::vector<std::string> kModes = {
        "", "dense", "window:128:64", "window:192:0", "select:64", "verify:64"};
    return kModes[random_.below(kModes.size())];
  }
  static AttentionChoice attention_of(const wire::GenerateRequest& request) {
    return request.attention ? *parse_attention(*request.attention)
                             : AttentionChoice{GetParam().mode};
  }
  // One of a few chains that agree in their beginnings, or what goes on from an answer.
  Ids some_prompt(int64_t tokens_max) {
    const auto count = 1 + random_.below(static_cast<uint64_t>(tokens_max));
    if (goes_on_ && !talks_.empty() && one_in(3)) {
      Ids prompt = talks_[random_.below(talks_.size())];
      if (std::ssize(prompt) < tokens_max) {
        for (uint64_t i = random_.below(70); i > 0; --i) prompt.push_back(int32_t(300 + i));
        return prompt;
      }
    }
    Ids prompt(count);
    const uint64_t fork = random_.below(12) * 64 + random_.below(3);
    const auto branch = static_cast<int32_t>(random_.below(4));
    for (size_t i = 0; i < count; ++i) {
      prompt[i] = static_cast<int32_t>(300 + i) + (i >= fork ? 100 * branch : 0);
    }
    return prompt;
  }
  void ask() {
    Asked asked;
    wire::GenerateRequest& request = asked.request;
    if (const std::string mode = some_mode(); !mode.empty()) request.attention = mode;
    asked.attention = attention_of(request);
    const bool has_window = asked.attention.mode.window > 0;
    request.prompt_token_ids = some_prompt(has_window ? 4000 : kAllTokensMax);
    request.sampling.temperature = 0;
    request.ignore_eos = true;
    request.max_tokens = 1 + static_cast<int32_t>(random_.below(one_in(4) ? 400 : 30));
    request.retain_output = goes_on_ && one_in(2);
    if (request.retain_output && one_in(4)) request.output_pinned = true;
    if (one_in(6)) {
      request.prompt_priority = static_cast<int32_t>(random_.below(101));
      request.prompt_priority_ms = 500;
    }
    const uint64_t number = world_.post(request, "client", some_tenant());
    asked_.emplace(number, std::move(asked));
  }
  void check_answers() {
    for (auto it = asked_.begin(); it != asked_.end();) {
      const auto finals = world_.all<wire::Final>(it->first);
      const auto errors = world_.all<wire::ErrorReply>(it->first);
      if (finals.empty() && errors.empty()) {
        ++it;
        continue;
      }
      const wire::GenerateRequest& request = it->second.request;
      if (!finals.empty()) {
        const Ids& answer = finals[0].token_ids;
        const Ids& prompt = request.prompt_token_ids;
        const AttentionChoice& attention = it->second.attention;
        EXPECT_EQ(answer, ProofModel::expected(prompt, attention.mode, answer.size()));
        EXPECT_EQ(finals[0].attention, to_string(attention));
        ++answered_;
        Ids talk = prompt;
        talk.insert(talk.end(), answer.begin(), answer.end());
        talks_.push_back(std::move(talk));
        if (talks_.size() > 8) talks_.erase(talks_.begin());
      } else if (errors[0].error.code != ErrorCode::kResourceExhausted) {
        EXPECT_EQ(errors[0].error.code, ErrorCode::kInternal) << errors[0].error.to_string();
        EXPECT_GT(failures_, 0) << errors[0].error.to_string();
      }
      it = asked_.erase(it);
    }
  }
  std::vector<Chunk> listed(const std::string& tenant) {
    const uint64_t number = world_.post(wire::ChunkListRequest{}, "client", tenant);
    return world_.one<wire::ChunkListReply>(number).chunks;
  }
  std::optional<std::string> some_id(const std::string& tenant) {
    const std::vector<Chunk> chunks = listed(tenant);
    if (chunks.empty()) return std::nullopt;
    return chunks[random_.below(chunks.size())].id;
  }
  void cache_prefix() {
    wire::PrefixCache prefix;
    prefix.prompt = testing::long_text("prefix" + std::to_string(random_.below(2)),
                                       static_cast<int>(random_.below(300)));
    prefixes_.push_back(world_.post(prefix));
  }
  void release_prefix() {
    if (prefixes_.empty()) return;
    const auto replies = world_.all<wire::PrefixReply>(prefixes_.back());
    if (replies.empty() && world_.all<wire::ErrorReply>(prefixes_.back()).empty()) return;
    prefixes_.pop_back();
    if (!replies.empty()) world_.post(wire::PrefixRelease{replies[0].id});
  }
  void step() {
    const std::string tenant = some_tenant();
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2: ask(); break;
      case 3:
      case 4:
        if (const auto id = some_id(tenant)) {
          wire::ChunkUpdate update;
          update.id = *id;
          update.pinned = one_in(2);
          world_.post(update, "client", tenant);
        }
        break;
      case 5:
        if (const auto id = some_id(tenant)) {
          world_.post(wire::ChunkDelete{*id, "", true}, "client", tenant);
        }
        break;
      case 6: one_in(3) ? cache_prefix() : release_prefix(); break;
      case 7:
        if (!asked_.empty() && one_in(3)) {
          world_.post(wire::CancelRequest{testing::request_id(asked_.begin()->first)});
        }
        break;
      case 8:
        if (!one_in(10)) break;
        ++failures_;
        world_.restart(testing::Actor::kPrefill);
        break;
      default: world_.pump(random_.below(20));
    }
    world_.core().on_tick();
    check_answers();
  }
  wire::CacheStats stats() {
    return *world_.one<wire::StatsReply>(world_.post(wire::StatsRequest{})).cache;
  }

  Random random_{testing::test_seed()};
  testing::MemoryDisk disk_;
  std::unique_ptr<Store> store_ = open_store();
  SchedulerWorld world_{options(), kPages, store_.get()};
  ProofModel model_{world_.arena()};
  std::map<uint64_t, Asked> asked_;
  std::vector<Ids> talks_;
  std::vector<uint64_t> prefixes_;
  // Prompts and chunks may have the answers of others in their prompts.
  bool goes_on_ = true;
  int failures_ = 0;
  int answered_ = 0;
};

TEST_P(RandomModes, see_their_own_pages_and_leave_nothing_behind) {
  const int steps = testing::long_or(6000, 600);
  for (int i = 0; i < steps && !HasFailure(); ++i) {
    step();
    const wire::CacheStats now = stats();
    ASSERT_LE(now.pages_pinned, now.pages_pinned_max);
  }
  world_.pump();
  check_answers();
  EXPECT_TRUE(asked_.empty());
  EXPECT_GT(answered_, steps / 20);
  while (!prefixes_.empty()) release_prefix();
  for (const std::string& tenant : {std::string(kLocalTenant), std::string("alice")}) {
    for (const Chunk& chunk : listed(tenant)) {
      wire::ChunkUpdate unpin;
      unpin.id = chunk.id;
      unpin.pinned = false;
      for (bool pinned = true; pinned;) {  // each holder may have a pin of its own
        const uint64_t number = world_.send(unpin, "client", tenant);
        pinned = world_.one<wire::ChunkReply>(number).chunk.pinned;
      }
      world_.send(wire::ChunkDelete{chunk.id, "", /*all=*/true}, "client", tenant);
    }
  }
  world_.clock.advance_us(10'000'000);  // priorities of prompts end
  world_.core().on_tick();
  world_.pump();
  const wire::CacheStats left = stats();
  EXPECT_EQ(left.pages_pinned, 0);
  EXPECT_EQ(left.pages_pin_promised, 0);
  EXPECT_EQ(left.pages_held, 0);
  const wire::StatusReply status = world_.status();
  EXPECT_EQ(status.chunks_output, 0);
  EXPECT_EQ(status.reprefills_pending, 0);
  EXPECT_EQ(status.requests_running, 0);
}

// When nothing runs, no request of any mode finds the tokens of a deleted output.
TEST_P(RandomModes, deleted_outputs_are_not_found_in_any_mode) {
  goes_on_ = false;
  for (int life = 0; life < testing::long_or(200, 20) && !HasFailure(); ++life) {
    for (int i = 0; i < 15; ++i) step();
    wire::GenerateRequest request;
    request.attention = one_in(2) ? "window:128:64" : one_in(2) ? "select:64" : "dense";
    request.prompt_token_ids = some_prompt(kAllTokensMax);
    request.sampling.temperature = 0;
    request.ignore_eos = true;
    request.max_tokens = 70;
    request.retain_output = true;
    const uint64_t number = world_.send(request);
    const auto finals = world_.all<wire::Final>(number);
    if (finals.empty()) continue;  // pins have the memory
    Ids talk = request.prompt_token_ids;
    talk.insert(talk.end(), finals[0].token_ids.begin(), finals[0].token_ids.end());
    wire::GenerateRequest again = request;
    again.retain_output = false;
    again.max_tokens = 1;
    again.prompt_token_ids = talk;
    again.prompt_token_ids.insert(again.prompt_token_ids.end(), {1, 2, 3});
    if (one_in(2)) world_.send(again);  // another mode has the tokens, too
    again.attention = "window:192:0";
    if (one_in(2)) world_.send(again);
    again.attention = "select:64";
    if (one_in(2)) world_.send(again);
    world_.send(wire::ChunkDelete{finals[0].output_chunk_id, "", true});
    for (const char* mode : {"dense", "window:128:64", "window:192:0", "select:64"}) {
      again.attention = mode;
      const auto found = world_.all<wire::Final>(world_.send(again));
      if (found.empty()) continue;
      // Another prompt may by chance go on with the first tokens of the answer.
      EXPECT_LE(found[0].usage.reused_tokens, std::ssize(request.prompt_token_ids) + 2) << mode;
      world_.clock.advance_us(1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Daemons, RandomModes,
                         ::testing::Values(Shape{"dense", {}, false},
                                           Shape{"dense_durable", {}, true},
                                           Shape{"window", {128, 64}, false},
                                           Shape{"window_durable", {128, 64}, true},
                                           Shape{"select", {0, 0, 64, 0}, false},
                                           Shape{"select_durable", {0, 0, 64, 0}, true}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace cascade
