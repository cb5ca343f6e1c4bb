// Random deletes beside other work, with kills before, during and after them: when a delete is
// answered, nothing of the text is on the disk, nothing of it is reused, and nothing else was
// removed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/actors/deletion_traces.h"
#include "tests/actors/mortal_daemon.h"
#include "tests/actors/scheduler_world.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::ask;
using testing::DaemonShape;
using testing::demo_model;
using testing::Ids;
using testing::MortalDaemon;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;
using testing::Traces;

// Longer than a page, so that one page has nothing but this prompt.
constexpr char kSystemOfAll[] =
    "You are a helpful assistant that reads words which mean nothing, and says so in one short "
    "sentence. Do not explain what the words might mean in a language that nobody speaks, and do "
    "not make up others. Say no more than you were asked for, and nothing about yourself at all.";
constexpr int64_t kTtlMs = 60'000;

// How a doomed text is made and deleted.
enum class DeletionWay { kOutput, kTurn, kSession, kContext, kPinnedContext, kExpiry };
constexpr size_t kDeletionWays = 6;

// A conversation up to the user's last message.
struct Talk {
  std::vector<ChatMessage> messages;
  size_t kept = 0;  // how many of the first messages stay
  bool thinking = false;

  Ids ids() const {
    wire::EncodeJob job;
    job.messages = messages;
    job.thinking = thinking;
    wire::EncodeDone done = run_encode(demo_model(), job);
    EXPECT_FALSE(done.error.has_value());
    return std::move(done.token_ids);
  }
  void say(const std::string& role, const std::string& text) {
    messages.push_back({.role = role, .content = text, .reasoning = {}});
  }
};

// A retained output that stays.
struct StayingOutput {
  std::string id;
  Talk talk;
  wire::GenerateRequest request;
  wire::Final final;
};

struct Doomed {
  DeletionWay way = DeletionWay::kOutput;
  std::vector<std::string> texts;
  std::vector<std::string> words;  // one word from each text, which no other text has
  Traces traces;
  Talk talk;
  std::string previous;          // kTurn: the output that the text goes on from
  std::string session;           // kSession
  std::vector<std::string> ids;  // chunks, in the order in which they are deleted
};

class RandomDeletion : public ::testing::TestWithParam<DaemonShape> {
 protected:
  RandomDeletion() : random_(testing::test_seed() + hash_of(GetParam().name)) {
    daemon_.before_kill = [this] {
      take_answers();
      working_.clear();
      tell("kill");
    };
  }
  static uint64_t hash_of(std::string_view name) {
    return std::accumulate(name.begin(), name.end(), uint64_t{0},
                           [](uint64_t hash, char c) { return hash * 31 + uint64_t(c); });
  }
  SchedulerWorld& world() { return daemon_.world(); }

  bool one_in(uint64_t n) { return random_.below(n) == 0; }
  // The next of these steps may be the last one of this daemon.
  void maybe_kill_within(uint64_t steps, uint64_t one_of) {
    daemon_.kill_in(one_in(one_of) ? random_.below(steps) : MortalDaemon::kNoKill);
  }
  void some_time() {
    const int64_t ms = one_in(3) ? 0 : static_cast<int64_t>(random_.below(1001));
    tell(std::to_string(ms) + " ms");
    daemon_.live(ms);
  }
  void tell(const std::string& what) { story_ += what + "; "; }

  // ---- Texts ------------------------------------------------------------------------------------

  std::string some_word(size_t letters) {
    std::string word;
    while (word.size() < letters) {
      word += "bdfgklmnprstvz"[random_.below(14)];
      word += "aeiou"[random_.below(5)];
    }
    return word;
  }
  std::string some_text(std::string& word) {
    static const std::vector<uint64_t> kLong = {2, 5, 10, 20, 40, 80, 200, 550};
    const uint64_t count =
        std::min(4 * GetParam().memory_pages,
                 testing::long_or(kLong[random_.below(kLong.size())],
                                  one_in(15) ? uint64_t{60} : 2 + random_.below(14)));
    word = some_word(16);
    std::string text = word;
    for (uint64_t i = 0; i < count; ++i) text += " " + some_word(4 + 2 * random_.below(3));
    return text + ".";
  }
  static Ids ids_of(const std::string& text) {
    auto ids = demo_model().tokenizer.encode(text, /*trusted=*/false, false);
    CHECK(ids.ok());
    return *std::move(ids);
  }
  const std::string& doomed_text(Doomed& doomed) {
    std::string word;
    doomed.texts.push_back(some_text(word));
    // In the search index a word may share its first letters with the word before it, so look only
    // for the last 12.
    doomed.traces.add_word(word.substr(word.size() - 12));
    doomed.traces.add_ids(ids_of(doomed.texts.back()));
    doomed.words.push_back(std::move(word));
    return doomed.texts.back();
  }

  // ---- Other work -------------------------------------------------------------------------------

  void begin_other_work() {
    StayingOutput other;
    std::string word;
    other.talk.thinking = one_in(3);
    if (one_in(3)) other.talk.say("system", kSystemOfAll);
    other.talk.say("user", some_text(word));
    other.request = ask({});
    if (one_in(2)) {
      other.request.messages = other.talk.messages;
    } else {
      other.request.chunks = {query_text(other.talk.messages.back().content)};
      if (other.talk.messages.size() == 2) {
        other.request.chunks.insert(other.request.chunks.begin(), system_text(kSystemOfAll));
      }
    }
    other.request.thinking = other.talk.thinking;
    other.request.retain_output = staying_.size() < 8 && one_in(2);
    other.request.max_tokens = 1 + static_cast<int32_t>(random_.below(12));
    prompts_.push_back(other.talk.ids());
    const uint64_t number = world().post(other.request, "another");
    tell("other work");
    working_.emplace(number, std::move(other));
  }
  // Takes the answers of the work that has ended.
  void take_answers() {
    for (auto it = working_.begin(); it != working_.end();) {
      EXPECT_EQ(daemon_.error_of(it->first), std::nullopt);
      const auto finals = world().all<wire::Final>(it->first);
      if (finals.empty()) {
        ++it;
        continue;
      }
      StayingOutput& other = it->second;
      other.final = finals[0];
      other.id = other.final.output_chunk_id;
      EXPECT_EQ(other.final.usage.prompt_tokens, std::ssize(other.talk.ids()));
      if (other.request.retain_output) staying_.push_back(std::move(other));
      it = working_.erase(it);
    }
  }
  void end_other_work() {
    world().pump();
    take_answers();
    EXPECT_TRUE(working_.empty());
  }

  // ---- Texts that will be deleted ---------------------------------------------------------------

  Doomed new_doomed() {
    Doomed doomed;
    doomed.way = static_cast<DeletionWay>(random_.below(kDeletionWays));
    doomed.talk.thinking = one_in(3);
    if (doomed.way == DeletionWay::kTurn && !staying_.empty()) {
      const StayingOutput& before = staying_[random_.below(staying_.size())];
      doomed.previous = before.id;
      doomed.talk.messages = before.talk.messages;
      // If a system message was given among messages, the daemon does not know it any more: it only
      // knows the turn.
      if (before.request.chunks.empty() && doomed.talk.messages.size() == 2) {
        doomed.talk.messages.erase(doomed.talk.messages.begin());
      }
      doomed.talk.say("assistant", before.final.text);
    } else if (one_in(3)) {
      doomed.talk.say("system", kSystemOfAll);
    }
    doomed.talk.kept = doomed.talk.messages.size();
    doomed_text(doomed);
    if (doomed.way == DeletionWay::kSession) doomed.session = "session of " + doomed.words[0];
    return doomed;
  }
  // Sends the last message of the talk; nullopt: the daemon was killed before the answer.
  std::optional<wire::Final> ask_it(Doomed& doomed, const std::vector<wire::ChunkRef>& chunks,
                                    bool retain) {
    wire::GenerateRequest request = ask(chunks);
    const bool has_system = doomed.talk.kept > 0 && doomed.previous.empty();
    if (has_system) request.chunks.insert(request.chunks.begin(), system_text(kSystemOfAll));
    request.thinking = doomed.talk.thinking;
    request.max_tokens = 1 + static_cast<int32_t>(random_.below(10));
    request.previous_output = doomed.previous;
    request.session = doomed.session;
    request.retain_output = retain;
    if (doomed.way == DeletionWay::kExpiry) request.output_ttl_ms = kTtlMs;
    const uint64_t number = world().post(request);
    tell(retain ? "asked and retained" : "asked");
    if (!daemon_.wait_for(number)) return std::nullopt;
    auto final = world().one<wire::Final>(number);
    EXPECT_EQ(final.usage.prompt_tokens, std::ssize(doomed.talk.ids()));
    if (!final.output_chunk_id.empty()) doomed.ids.push_back(final.output_chunk_id);
    return final;
  }
  bool make_context(Doomed& doomed) {
    wire::ChunkPut put{ChunkType::kContext, doomed.texts[0]};
    if (doomed.way == DeletionWay::kPinnedContext && one_in(2)) put.pinned = true;
    uint64_t number = world().post(put);
    if (!daemon_.wait_for(number)) return false;
    if (daemon_.error_of(number) == ErrorCode::kResourceExhausted) {
      put.pinned.reset();
      number = world().post(put);
      if (!daemon_.wait_for(number)) return false;
    }
    const std::string id = world().one<wire::ChunkReply>(number).chunk.id;
    doomed.ids.push_back(id);
    const size_t before = doomed.talk.messages.size();
    // The daemon writes the pages of a text that is asked about more than once.
    for (uint64_t i = 0, times = 1 + random_.below(3); i < times; ++i) {
      const std::string question = i == 0 ? "Which?" : "How many? And why?";
      doomed.talk.messages.resize(before);
      doomed.talk.say("user", doomed.texts[0] + "\n\n" + question);
      const bool retain = one_in(3);
      if (!ask_it(doomed, {{ChunkType::kContext, id, ""}, query_text(question)}, retain)) {
        return false;
      }
    }
    if (doomed.way == DeletionWay::kPinnedContext && !put.pinned) {
      wire::ChunkUpdate pin;
      pin.id = id;
      pin.pinned = true;
      if (!daemon_.wait_for(world().post(pin))) return false;
    }
    return true;
  }
  // False: the daemon was killed before it had answered.
  bool try_to_make(Doomed& doomed) {
    doomed.ids.clear();
    doomed.talk.messages.resize(doomed.talk.kept);
    if (doomed.way == DeletionWay::kContext || doomed.way == DeletionWay::kPinnedContext) {
      return make_context(doomed);
    }
    doomed.talk.say("user", doomed.texts[0]);
    const auto first = ask_it(doomed, {query_text(doomed.texts[0])}, true);
    if (!first || doomed.way != DeletionWay::kSession || one_in(2)) return first.has_value();
    doomed.talk.say("assistant", first->text);
    if (doomed.texts.size() == 1) doomed_text(doomed);
    doomed.talk.say("user", doomed.texts[1]);
    return ask_it(doomed, {query_text(doomed.texts[1])}, true).has_value();
  }
  void make(Doomed& doomed) {
    maybe_kill_within(40, 4);
    while (!try_to_make(doomed)) {
      // A turn may exist whose answer was lost, so the conversation begins anew.
      if (!doomed.session.empty())
        daemon_.wait_for(world().post(wire::SessionDelete{doomed.session, true}));
    }
    daemon_.kill_in(MortalDaemon::kNoKill);
    doomed.ids = chunks_of(doomed);  // also outputs whose answers were lost
    std::ranges::shuffle(doomed.ids, random_);
  }
  std::vector<std::string> chunks_of(const Doomed& doomed) {
    std::vector<std::string> ids;
    const uint64_t number = world().post(wire::ChunkListRequest{});
    for (const Chunk& chunk : world().one<wire::ChunkListReply>(number).chunks) {
      const auto has = [&](const std::string& word) {
        return (chunk.text + " " + chunk.query_text).find(word) != std::string::npos;
      };
      if (std::ranges::any_of(doomed.words, has)) ids.push_back(chunk.id);
    }
    return ids;
  }
  // Another client goes on from one of the doomed chunks while it is deleted.
  void begin_use(Doomed& doomed) {
    wire::GenerateRequest request = ask({query_text("What else?")});
    request.max_tokens = 12;
    const std::string& id = doomed.ids[random_.below(doomed.ids.size())];
    if (id.starts_with("output")) {
      request.previous_output = id;
    } else {
      request.chunks.insert(request.chunks.begin(), {ChunkType::kContext, id, ""});
    }
    world().post(request, "another");
    tell("used");
    daemon_.live(static_cast<int64_t>(random_.below(30)));
  }
  void note_kv(Doomed& doomed) {
    for (const std::string& text : doomed.texts) {
      doomed.traces.add_kv(daemon_.store(), daemon_.disk(), ids_of(text));
    }
    kv_pieces_ += doomed.traces.kv_pieces();
  }

  // ---- Deletes ----------------------------------------------------------------------------------

  // Gives up holders until none is left. False: the daemon was killed before it had answered.
  bool remove_chunk(const std::string& id) {
    for (int i = 0; i < 10; ++i) {
      const uint64_t number = world().post(wire::ChunkDelete{id});
      if (!daemon_.wait_for(number)) return false;
      if (const auto error = daemon_.error_of(number)) {
        if (*error == ErrorCode::kNotFound) return true;
        EXPECT_EQ(*error, ErrorCode::kConflict);
        wire::ChunkUpdate unpin;
        unpin.id = id;
        unpin.pinned = false;
        if (!daemon_.wait_for(world().post(unpin))) return false;
      } else if (world().one<wire::ChunkReply>(number).gone) {
        return true;
      }
    }
    ADD_FAILURE() << "somebody holds it still";
    return true;
  }
  bool try_to_remove(const Doomed& doomed) {
    if (doomed.way == DeletionWay::kExpiry) {
      for (const std::string& id : doomed.ids) {
        const auto chunk = daemon_.find_chunk(id);
        if (chunk) world().clock.advance_us(chunk->expires_us - world().clock.wall_us());
      }
      world().core().on_tick();
      if (!daemon_.pass_steps()) return false;
      end_other_work();  // nobody is told when an expired text is removed
      return true;
    }
    std::vector<std::string> ids = doomed.ids;
    if (doomed.way == DeletionWay::kSession) {
      const auto is_turn = [&](const std::string& id) {
        const auto chunk = daemon_.find_chunk(id);
        return chunk && std::ranges::all_of(chunk->holders, [](const Holder& holder) {
                 return holder.kind == HolderKind::kSession;
               });
      };
      // If a kill came before an output's turn was durable, the output is also retained, so it has
      // to be deleted by itself.
      std::erase_if(ids, is_turn);
      const uint64_t number = world().post(wire::SessionDelete{doomed.session, true});
      if (!daemon_.wait_for(number)) return false;
      EXPECT_EQ(daemon_.error_of(number).value_or(ErrorCode::kNotFound), ErrorCode::kNotFound);
    }
    return std::ranges::all_of(ids, [&](const std::string& id) { return remove_chunk(id); });
  }
  void remove(const Doomed& doomed) {
    maybe_kill_within(8, 3);
    while (!try_to_remove(doomed)) {
    }
    daemon_.kill_in(MortalDaemon::kNoKill);
  }

  // ---- What is left -----------------------------------------------------------------------------

  bool is_of_others(std::span<const int32_t> ids) const {
    return std::ranges::any_of(
        prompts_, [&](const Ids& prompt) { return !std::ranges::search(prompt, ids).empty(); });
  }
  void check_disk(const Doomed& doomed, const std::string& when) {
    const auto found = doomed.traces.found_on(
        daemon_.disk(), [&](std::span<const int32_t> ids) { return is_of_others(ids); });
    EXPECT_EQ(found, std::nullopt) << when;
  }
  void check_chunks(const Doomed& doomed) {
    EXPECT_EQ(chunks_of(doomed), std::vector<std::string>());
  }
  // When the same conversation is asked again, at most the part that stays, or that other prompts
  // begin with, is found.
  void check_reuse(const Doomed& doomed) {
    const Ids prompt = doomed.talk.ids();
    Talk other = doomed.talk;
    other.messages.resize(other.kept);
    other.say("user", "?");
    size_t known = common_prefix(prompt, other.ids());
    for (const Ids& ids : prompts_) known = std::max(known, common_prefix(prompt, ids));
    wire::GenerateRequest request = ask({});
    request.messages = doomed.talk.messages;
    request.thinking = doomed.talk.thinking;
    request.max_tokens = 1;
    const wire::Usage usage = world().one<wire::Final>(world().send(request)).usage;
    EXPECT_LE(usage.reused_tokens, static_cast<int64_t>(known));
  }
  void check_staying() {
    for (const StayingOutput& output : staying_) {
      const auto chunk = daemon_.find_chunk(output.id);
      ASSERT_TRUE(chunk.has_value());
      EXPECT_EQ(chunk->text, output.final.text);
      EXPECT_EQ(chunk->query_text, output.talk.messages.back().content);
      EXPECT_EQ(chunk->token_ids, output.final.token_ids);
    }
  }
  void ask_staying_again() {
    for (const StayingOutput& output : staying_) {
      wire::GenerateRequest request = output.request;
      request.retain_output = false;
      const auto final = world().one<wire::Final>(world().send(request));
      EXPECT_EQ(final.token_ids, output.final.token_ids);
      EXPECT_EQ(final.logprobs, output.final.logprobs);
    }
  }

  void round() {
    story_.clear();
    if (one_in(2)) begin_other_work();
    some_time();
    Doomed doomed = new_doomed();
    SCOPED_TRACE("way " + std::to_string(static_cast<int>(doomed.way)));
    make(doomed);
    if (one_in(3)) begin_other_work();
    some_time();
    if (one_in(3)) daemon_.kill();
    if (one_in(2)) some_time();
    if (one_in(3)) begin_other_work();
    if (doomed.way != DeletionWay::kExpiry && one_in(3)) begin_use(doomed);
    note_kv(doomed);
    tell("delete");
    remove(doomed);
    tell("deleted");
    check_disk(doomed, "when it is answered");
    check_chunks(doomed);
    if (one_in(3)) {
      daemon_.kill();
      check_disk(doomed, "after a kill");
      check_chunks(doomed);
    }
    end_other_work();
    if (one_in(3)) world().idle_store();
    check_disk(doomed, "when everything is done");
    check_reuse(doomed);
    prompts_.push_back(doomed.talk.ids());
    check_staying();
  }

  Random random_;
  MortalDaemon daemon_{GetParam()};
  std::map<uint64_t, StayingOutput> working_;  // by request
  std::vector<StayingOutput> staying_;
  std::vector<Ids> prompts_;  // prompts that others asked, or that were asked again
  size_t kv_pieces_ = 0;
  std::string story_;  // of a round
};

TEST_P(RandomDeletion, leaves_nothing_and_reuses_nothing) {
  const int rounds = testing::long_or(200, 20);
  for (int i = 0; i < rounds; ++i) {
    SCOPED_TRACE("round " + std::to_string(i));
    round();
    ASSERT_FALSE(HasFailure()) << story_;
  }
  ask_staying_again();
  daemon_.check_store();
  EXPECT_GT(daemon_.kills(), 0);
  EXPECT_GT(kv_pieces_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RandomDeletion,
                         ::testing::Values(DaemonShape{"much_room", 400, 300, 1000, 0},
                                           DaemonShape{"little_memory", 44, 200, 1000, 0},
                                           DaemonShape{"little_disk", 400, 36, 1000, 0},
                                           DaemonShape{"little_of_both", 44, 44, 8, 0},
                                           DaemonShape{"short_bursts", 200, 150, 4, 1}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace cascade
