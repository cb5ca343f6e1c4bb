// Tenants retain, name, pin, shorten and delete the same outputs, sessions share them, and kills
// come in between. A model that writes down every holder separately says what is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "tests/actors/scheduler_world.h"
#include "tests/long_tests.h"
#include "tests/persist/memory_disk.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;

constexpr int64_t kNever = INT64_MAX;
constexpr const char* kTenants[] = {"local", "alice", "bob"};

struct OneHolder {
  HolderKind kind;
  std::string label;
  int64_t expires_us = kNever;
  bool pinned = false;
  int64_t end() const { return pinned ? kNever : expires_us; }
};

struct Output {
  std::string tenant, question, answer;
  std::vector<std::string> before;  // ids of the turns before this output
  std::vector<OneHolder> holders;

  bool pinned() const {
    return std::ranges::any_of(holders, [](const OneHolder& h) { return h.pinned; });
  }
  std::vector<OneHolder*> of(HolderKind kind) {
    std::vector<OneHolder*> found;
    for (OneHolder& holder : holders) {
      if (holder.kind == kind) found.push_back(&holder);
    }
    return found;
  }
  OneHolder* first_to_end(HolderKind kind, bool pinned) {
    OneHolder* first = nullptr;
    for (OneHolder* holder : of(kind)) {
      if (holder->pinned != pinned) continue;
      if (first == nullptr || holder->expires_us < first->expires_us) first = holder;
    }
    return first;
  }
  OneHolder* labelled(HolderKind kind, const std::string& label) {
    for (OneHolder* holder : of(kind)) {
      if (holder->label == label) return holder;
    }
    return nullptr;
  }
  // An existing holder moves to the end: if two end together, the first one is unpinned.
  void add(OneHolder holder) {
    OneHolder* present =
        holder.kind == HolderKind::kRetention ? nullptr : labelled(holder.kind, holder.label);
    if (present != nullptr) {
      holder.expires_us = std::max(present->expires_us, holder.expires_us);
      holder.pinned = present->pinned || holder.pinned;
      erase(present);
    }
    holders.push_back(holder);
  }
  void erase(const OneHolder* holder) {
    holders.erase(holders.begin() + (holder - holders.data()));
  }
};

class HolderModel : public ::testing::Test {
 protected:
  HolderModel() { start(); }
  ~HolderModel() override {
    world_.reset();
    store_.reset();
  }

  void start() {
    auto opened = Store::open(disk_, "/state", {});
    CHECK(opened.ok());
    store_ = *std::move(opened);
    SchedulerOptions options;
    options.keep_pages = true;
    options.max_pinned = 0.5;
    const int64_t now = world_ == nullptr ? 0 : world_->clock.wall_us();
    world_ = std::make_unique<SchedulerWorld>(options, 30, store_.get());
    if (now > 0) world_->clock.set_wall_us(now);
  }
  void kill() {
    const int64_t now = world_->clock.wall_us();
    world_.reset();
    disk_.kill();
    store_.reset();
    start();
    world_->clock.set_wall_us(now);
  }

  const char* some_tenant() { return kTenants[random_.below(3)]; }
  std::string some_name() { return "name" + std::to_string(random_.below(3)); }
  std::string some_session() { return "session" + std::to_string(random_.below(3)); }
  std::optional<int64_t> some_ttl_ms() {
    if (random_.below(2) == 0) return std::nullopt;
    return 200 + static_cast<int64_t>(random_.below(20'000));
  }
  int64_t now() const { return world_->clock.wall_us(); }

  // Removes the holders that have ended by the daemon's clock, except those of pinned outputs.
  void pass_time() {
    for (auto& [id, output] : outputs_) {
      if (output.pinned()) continue;
      std::erase_if(output.holders, [&](const OneHolder& h) { return h.end() <= now(); });
    }
    std::erase_if(outputs_, [](const auto& output) { return output.second.holders.empty(); });
  }

  std::string some_output(const std::string& tenant) {
    std::vector<std::string> ids;
    for (const auto& [id, output] : outputs_) {
      if (output.tenant == tenant) ids.push_back(id);
    }
    return ids.empty() ? "" : ids[random_.below(ids.size())];
  }

  // The daemon has exactly the chunks of the model, with the same holders.
  void compare() {
    pass_time();
    for (const char* tenant : kTenants) {
      wire::ChunkListRequest list;
      list.type = ChunkType::kOutput;
      const auto chunks = world_->one<wire::ChunkListReply>(world_->send_as(tenant, list)).chunks;
      pass_time();
      std::set<std::string> expected;
      for (const auto& [id, output] : outputs_) {
        if (output.tenant == tenant) expected.insert(id);
      }
      std::set<std::string> found;
      for (const Chunk& chunk : chunks) {
        found.insert(chunk.id);
        compare_holders(chunk);
      }
      ASSERT_EQ(found, expected) << tenant;
    }
  }

  using Described = std::multiset<std::tuple<HolderKind, std::string, int64_t, bool>>;
  static Described described(const std::vector<Holder>& holders) {
    Described all;
    for (const Holder& holder : holders) {
      for (int64_t i = 0; i < holder.count; ++i) {
        all.insert({holder.kind, holder.label, holder.expires_us == 0 ? kNever : holder.expires_us,
                    holder.pinned});
      }
    }
    return all;
  }
  Described holders_of(const std::string& id) const {
    Described all;
    if (!outputs_.contains(id)) return all;
    for (const OneHolder& holder : outputs_.at(id).holders) {
      all.insert({holder.kind, holder.label, holder.expires_us, holder.pinned});
    }
    return all;
  }
  void compare_holders(const Chunk& chunk) {
    if (!outputs_.contains(chunk.id)) return;  // compare() reports the difference
    ASSERT_EQ(described(chunk.holders), holders_of(chunk.id)) << chunk.id;
  }
  // Compares the reply to a change that kept every holder's terms, but may have ended its pin.
  void compare_reply(const wire::ChunkReply& reply, const Described& before) {
    const std::string& id = reply.chunk.id;
    const Described after = holders_of(id);
    ASSERT_EQ(reply.gone.value_or(false), !outputs_.contains(id)) << id;
    ASSERT_EQ(described(reply.chunk.holders), after) << id;
    Described told = described(reply.ended);
    told.insert(after.begin(), after.end());
    ASSERT_EQ(told.size(), before.size()) << id;
    for (const auto& [kind, label, expires_us, pinned] : told) {
      ASSERT_TRUE(before.contains({kind, label, expires_us, pinned}) ||
                  before.contains({kind, label, expires_us, true}))
          << id;
    }
  }

  int64_t expires(std::optional<int64_t> ttl_ms, int64_t at_us) const {
    return ttl_ms ? at_us + *ttl_ms * 1000 : kNever;
  }

  // The number of tokens of a prompt with the texts of these turns and the question.
  size_t tokens_of(const std::vector<std::string>& turns, const std::string& question) {
    wire::ApplyTemplateRequest request;
    for (const std::string& id : turns) {
      const Output& turn = known_.at(id);
      request.messages.push_back({.role = "user", .content = turn.question, .reasoning = {}});
      request.messages.push_back({.role = "assistant", .content = turn.answer, .reasoning = {}});
    }
    request.messages.push_back({.role = "user", .content = question, .reasoning = {}});
    return world_->one<wire::ApplyTemplateReply>(world_->send(request)).token_ids.size();
  }

  void generate() {
    const std::string tenant = some_tenant();
    const std::string question = "What is " + std::to_string(random_.below(3)) + "+2?";
    wire::GenerateRequest request = ask({query_text(question)});
    request.max_tokens = 2;
    request.output_ttl_ms = some_ttl_ms();
    if (random_.below(4) == 0) request.output_name = some_name();
    if (random_.below(6) == 0) request.output_pinned = true;
    std::vector<std::string> before;
    const bool in_session = random_.below(2) == 0;
    std::vector<std::string>* turns = nullptr;
    bool lost = false;
    if (in_session) {
      request.session = some_session();
      turns = &sessions_[{tenant, request.session}];
      pass_time();
      for (const std::string& id : *turns) {
        if (outputs_.contains(id)) before.push_back(id);
        lost = lost || !outputs_.contains(id);
      }
      if (lost && random_.below(2) == 0) request.on_missing = OnMissing::kSkip;
    } else {
      request.retain_output = true;
      const std::string previous = some_output(tenant);
      if (!previous.empty() && random_.below(3) == 0) {
        request.chunks.insert(request.chunks.begin(), testing::output_ref(previous));
        before = {previous};
      }
    }
    const uint64_t number = world_->send_as(tenant, request);
    const auto errors = world_->all<wire::ErrorReply>(number);
    if (!errors.empty()) {
      const Error& error = errors.front().error;
      const bool refused_turn = lost && !request.on_missing && error.field == "session";
      const bool no_room = error.field == "output_pinned" && request.output_pinned;
      // An output of the prompt may have expired between the model's look and the daemon's.
      pass_time();
      const bool expired = std::ranges::any_of(
          before, [&](const std::string& id) { return !outputs_.contains(id); });
      ASSERT_TRUE(refused_turn || no_room || expired) << error.to_string();
      ++refused_;
      if (turns != nullptr && turns->empty()) sessions_.erase({tenant, request.session});
      return;
    }
    const auto final = world_->one<wire::Final>(number);
    ASSERT_FALSE(lost && !request.on_missing) << "a lost turn was not told";
    const std::string& id = final.output_chunk_id;
    const Chunk chunk =
        world_->one<wire::ChunkReply>(world_->send_as(tenant, wire::ChunkGet{id})).chunk;
    ASSERT_EQ(static_cast<size_t>(final.usage.prompt_tokens), tokens_of(before, question));
    known_[id] = {tenant, question, final.text, before, {}};
    take_holders(id, tenant, request, chunk);
    if (turns != nullptr) turns->push_back(id);
    ++generated_;
  }

  // The chunk only says from which time the daemon counted; the rest comes from the model.
  void take_holders(const std::string& id, const std::string& tenant,
                    const wire::GenerateRequest& request, const Chunk& chunk) {
    pass_time();
    Output& output = outputs_.try_emplace(id, known_.at(id)).first->second;
    const auto given_at = [&](HolderKind kind, const std::string& label) {
      if (!request.output_ttl_ms) return kNever;
      int64_t latest = 0;
      for (const Holder& holder : chunk.holders) {
        if (holder.kind == kind && holder.label == label) {
          latest = std::max(latest, holder.expires_us == 0 ? kNever : holder.expires_us);
        }
      }
      const int64_t earliest = now() - 2'000'000 + *request.output_ttl_ms * 1000;
      const int64_t most = now() + *request.output_ttl_ms * 1000;
      // There may be retentions with other times: first looks for the new one, which was made now.
      for (const bool new_only : {true, false}) {
        for (const Holder& holder : chunk.holders) {
          const bool known = std::ranges::any_of(output.holders, [&](const OneHolder& other) {
            return other.kind == kind && other.expires_us == holder.expires_us;
          });
          const bool is_it = holder.kind == kind && holder.label == label &&
                             holder.expires_us >= earliest && holder.expires_us <= most;
          if (is_it && !(known && new_only)) return holder.expires_us;
        }
      }
      return latest;
    };
    const std::string name = request.output_name.value_or("");
    std::vector<OneHolder> added;
    if (!request.session.empty()) added.push_back({HolderKind::kSession, request.session});
    if (!name.empty()) added.push_back({HolderKind::kName, name});
    if (added.empty()) added.push_back({HolderKind::kRetention, ""});
    added.back().pinned = request.output_pinned.value_or(false);
    for (OneHolder& holder : added) {
      holder.expires_us = given_at(holder.kind, holder.label);
      output.add(holder);
    }
    ASSERT_EQ(output.tenant, tenant);
  }

  void remove() {
    const std::string tenant = some_tenant();
    const std::string id = some_output(tenant);
    if (id.empty()) return;
    const bool all = random_.below(8) == 0;
    wire::ChunkDelete request = {id, "", all};
    if (!all && random_.below(3) == 0) request.name = some_name();
    const uint64_t number = world_->send_as(tenant, request);
    pass_time();
    if (!outputs_.contains(id)) return;  // it expired
    Output& output = outputs_.at(id);
    const Described before = holders_of(id);
    const bool refused = !world_->all<wire::ErrorReply>(number).empty();
    if (all) {
      ASSERT_EQ(refused, output.pinned());
      if (refused) return;
      outputs_.erase(id);
      return compare_reply(world_->one<wire::ChunkReply>(number), before);
    }
    OneHolder* given_up = nullptr;
    if (!request.name.empty()) {
      given_up = output.labelled(HolderKind::kName, request.name);
    } else if (!output.of(HolderKind::kRetention).empty()) {
      given_up = output.first_to_end(HolderKind::kRetention, false);
    } else if (output.of(HolderKind::kName).size() == 1) {
      given_up = output.first_to_end(HolderKind::kName, false);
    }
    const bool only_pins = given_up != nullptr && output.pinned() &&
                           output.holders.size() == 1 + output.of(HolderKind::kPin).size();
    ASSERT_EQ(refused, given_up == nullptr || only_pins)
        << (refused ? world_->error(number).to_string() : "was not refused");
    if (refused) return;
    output.erase(given_up);
    pass_time();  // the last pin may have ended
    compare_reply(world_->one<wire::ChunkReply>(number), before);
    ++deleted_;
  }

  void update() {
    const std::string tenant = some_tenant();
    const std::string id = some_output(tenant);
    if (id.empty()) return;
    wire::ChunkUpdate request;
    request.id = id;
    switch (random_.below(4)) {
      case 0: request.pinned = true; break;
      case 1: request.pinned = false; break;
      case 2: request.name = random_.below(5) == 0 ? "" : some_name(); break;
      default: request.ttl_ms = 300 + static_cast<int64_t>(random_.below(10'000));
    }
    const uint64_t number = world_->send_as(tenant, request);
    const auto errors = world_->all<wire::ErrorReply>(number);
    pass_time();
    if (!outputs_.contains(id)) return;
    if (!errors.empty()) {
      ASSERT_EQ(errors.front().error.field, "pinned") << errors.front().error.to_string();
      return;
    }
    const auto reply = world_->one<wire::ChunkReply>(number);
    const Described before = holders_of(id);
    apply(outputs_.at(id), request, reply.chunk);
    pass_time();
    if (request.pinned == false) compare_reply(reply, before);
  }

  void apply(Output& output, const wire::ChunkUpdate& request, const Chunk& reply) {
    if (request.pinned == true) return output.add({HolderKind::kPin, "", kNever, true});
    if (request.pinned == false) {
      for (const HolderKind kind :
           {HolderKind::kPin, HolderKind::kRetention, HolderKind::kName, HolderKind::kSession}) {
        OneHolder* pinned = output.first_to_end(kind, true);
        if (pinned == nullptr) continue;
        pinned->pinned = false;
        if (kind == HolderKind::kPin) output.erase(pinned);
        return;
      }
      return;
    }
    if (request.name && request.name->empty()) {
      for (OneHolder* name : output.of(HolderKind::kName)) {
        name->kind = HolderKind::kRetention;
        name->label = "";
      }
      return;
    }
    if (request.name) {
      const OneHolder* name = output.labelled(HolderKind::kName, *request.name);
      return output.add(name != nullptr ? *name : OneHolder{HolderKind::kName, *request.name});
    }
    // The reply tells the new end: it is the only end that no holder had before.
    std::multiset<int64_t> before;
    for (const OneHolder& holder : output.holders) before.insert(holder.expires_us);
    int64_t end = 0;
    for (const Holder& holder : reply.holders) {
      if (holder.expires_us != 0 && !before.contains(holder.expires_us)) end = holder.expires_us;
    }
    if (end == 0) end = now();  // it is over already
    OneHolder* target = nullptr;
    for (OneHolder* retention : output.of(HolderKind::kRetention)) {
      const auto rank = [](const OneHolder& h) {
        return std::tuple(h.end(), h.pinned, h.expires_us);
      };
      if (target == nullptr || rank(*retention) < rank(*target)) target = retention;
    }
    if (target == nullptr && output.of(HolderKind::kName).size() == 1) {
      target = output.of(HolderKind::kName).front();
    }
    if (target == nullptr) return output.add({HolderKind::kRetention, "", end});
    target->expires_us = end;
  }

  void end_session() {
    if (sessions_.empty()) return;
    auto session = sessions_.begin();
    std::advance(session, static_cast<ptrdiff_t>(random_.below(sessions_.size())));
    const auto [tenant, name] = session->first;
    const bool outputs = random_.below(2) == 0;
    const uint64_t number = world_->send_as(tenant, wire::SessionDelete{name, outputs});
    pass_time();
    bool only_pins = false;
    for (const std::string& id : session->second) {
      if (!outputs || !outputs_.contains(id)) continue;
      Output& output = outputs_.at(id);
      const bool held = output.labelled(HolderKind::kSession, name) != nullptr;
      only_pins = only_pins || (held && output.pinned() &&
                                output.holders.size() == 1 + output.of(HolderKind::kPin).size());
    }
    ASSERT_EQ(!world_->all<wire::ErrorReply>(number).empty(), only_pins);
    if (only_pins) return;
    for (const std::string& id : session->second) {
      if (!outputs_.contains(id)) continue;
      OneHolder* turn = outputs_.at(id).labelled(HolderKind::kSession, name);
      if (turn == nullptr) continue;
      if (outputs) {
        outputs_.at(id).erase(turn);
      } else {
        turn->kind = HolderKind::kRetention;
        turn->label = "";
      }
    }
    pass_time();
    for (const auto& output : world_->one<wire::SessionReply>(number).outputs) {
      ASSERT_EQ(output.gone, !outputs_.contains(output.id)) << output.id;
      ASSERT_EQ(output.held_by.empty(), output.gone) << output.id;
    }
    sessions_.erase(session);
  }

  void step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2: return generate();
      case 3:
      case 4: return remove();
      case 5:
      case 6:
      case 7: return update();
      case 8: return random_.below(4) == 0 ? end_session() : compare();
      default: world_->clock.advance_us(static_cast<int64_t>(random_.below(3'000'000)));
    }
    world_->core().on_tick();
    world_->pump();
  }

  Random random_{testing::test_seed()};
  testing::MemoryDisk disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SchedulerWorld> world_;
  std::map<std::string, Output> outputs_;  // the outputs that are held, by id
  std::map<std::string, Output> known_;    // all outputs that ever existed
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> sessions_;
  int generated_ = 0, deleted_ = 0, refused_ = 0;
};

TEST_F(HolderModel, no_output_is_missing_and_none_is_kept_without_a_holder) {
  const int steps = testing::long_or(100'000, 1'000);
  for (int i = 0; i < steps; ++i) {
    step();
    if (i % 150 == 149) kill();
    if (i % 25 == 0) compare();
    if (HasFatalFailure()) FAIL() << "step " << i;
  }
  std::cout << generated_ << " generated, " << deleted_ << " given up, " << refused_
            << " refused\n";
  EXPECT_GT(generated_, steps / 20);
  EXPECT_GT(deleted_, steps / 100);
}

}  // namespace
}  // namespace cascade
