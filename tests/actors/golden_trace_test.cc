// Runs a scheduler through long random lives and takes a digest of its messages. A change that only
// moves code must change no message, nor the order of two messages.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/actors/scheduler_world.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"
#include "tests/wire/message_archives.h"

namespace cascade {
namespace {

using testing::Actor;
using testing::demo_model;
using testing::SchedulerWorld;

struct Life {
  const char* name;
  uint64_t seed;
  bool keep_pages;
  size_t memory_pages;
  int64_t disk_pages;
  int steps;
  const char* digest;  // of all messages of the scheduler
};

// A change of behaviour changes the digests: first compare the traces from before and after the
// change, and say in the commit why they differ. CASCADE_TRACE_DIR=/tmp/traces writes each life to
// a file. CASCADE_TRACE_SEED=5 runs other lives and prints their digests, to compare two builds.
constexpr Life kLives[] = {
    {"without_a_disk", 1, false, 60, 0, 1200,
     "f71e332f39b250f4111615838216202199d8fefdafe5512d22b46d9f8e79d6c4"},
    {"with_a_large_disk", 2, true, 60, 4000, 1200,
     "bc866f10ce35dc08267c9591d739864361852986e2cdad1e6f122df73cbfa021"},
    {"with_a_small_disk", 3, true, 40, 50, 1200,
     "c642f0393d399007bfc672947deb8a2e702ddf1874887810ff206698f79ae56b"},
    {"with_much_memory", 4, true, 400, 4000, 1200,
     "d182fab29189de6636aedea91ac6a3452c1736c30dfcec697b249bd04953dbc7"},
};

uint64_t other_seed() {
  const char* given = std::getenv("CASCADE_TRACE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 0;
}

// A token depends only on its place, the token before it and the end tokens, so that the trace does
// not depend on a machine's arithmetic.
int32_t token_at(int64_t position, int32_t before, const std::vector<int32_t>& end_tokens) {
  const uint64_t number = counter_random(static_cast<uint64_t>(before), position);
  if (number % 24 == 0 && !end_tokens.empty()) return end_tokens.front();
  return static_cast<int32_t>(100 + number % 400);
}

wire::PrefillDone prefill(const wire::PrefillJob& job) {
  wire::PrefillDone done;
  done.job = job.job;
  done.compute_us = 300 * std::ssize(job.token_ids);
  if (!job.sample) return done;
  const int64_t next = job.position + std::ssize(job.token_ids);
  done.token = token_at(next, job.token_ids.back(), {});
  done.logprob = -0.5;
  return done;
}

wire::DecodeDone decode(const wire::DecodeJob& job) {
  wire::DecodeDone done;
  done.job = job.job;
  done.steps = job.steps_max;
  done.compute_us = 2000 * job.steps_max;
  for (const wire::DecodeSequence& sequence : job.sequences) {
    wire::DecodedSequence& decoded = done.sequences.emplace_back();
    decoded.sequence = sequence.sequence;
    int32_t token = sequence.token;
    for (int32_t i = 1; i <= sequence.steps_max; ++i) {
      token = token_at(sequence.position + i, token, sequence.end_tokens);
      decoded.token_ids.push_back(token);
      decoded.logprobs.push_back(-0.25);
      if (std::ranges::find(sequence.end_tokens, token) != sequence.end_tokens.end()) break;
    }
  }
  return done;
}

class GoldenTrace : public ::testing::TestWithParam<Life> {
 protected:
  GoldenTrace() {
    if (const char* folder = std::getenv("CASCADE_TRACE_DIR")) {
      file_.open(std::string(folder) + "/" + GetParam().name + ".txt");
    }
  }

  void start() {
    const Life& life = GetParam();
    SchedulerOptions options = testing::bursts_of(4);
    options.random = [this] { return ids_(); };
    options.keep_pages = life.keep_pages;
    options.max_pinned = 0.3;
    options.chunk_memory_ratio = 0.6;
    options.requests_running_max = 4;
    options.requests_waiting_max = 12;
    options.reprefills_max = 6;
    options.prefixes_max = 3;
    options.prompt_leases_max = 4;
    options.events_max = 50;
    if (life.keep_pages) {
      StoreOptions store;
      store = testing::test_options();
      const auto record = static_cast<int64_t>((SchedulerWorld::page_bytes() + 4095) / 4096 + 1);
      store.kv.file_bytes_max = uint64_t{1} << 22;
      store.kv.disk_bytes_max = static_cast<uint64_t>((life.disk_pages * record + 1) * 4096);
      auto opened = Store::open(disk_, testing::kStateDir, store);
      ASSERT_TRUE(opened.ok()) << opened.error().to_string();
      store_ = *std::move(opened);
    }
    world_ = std::make_unique<SchedulerWorld>(options, life.memory_pages, store_.get(),
                                              [this](SchedulerWorld& world) { listen(world); });
    world_->core().on_actor_started(Actor::kHttp, kLocalTenant);
    world_->core().on_actor_started(Actor::kGateway, "b");
  }
  void stop() {
    world_.reset();
    disk_.kill();
    store_.reset();
  }
  void listen(SchedulerWorld& world) {
    world.prefill = prefill;
    world.decode = decode;
    world.store_at_once = false;
    world.on_outgoing = [this](const Outgoing& outgoing) { note(outgoing); };
    world.tamper = [this](wire::Message& answer) { fail_sometimes(answer); };
  }

  void note(Outgoing outgoing) {
    // The instruction set is the only thing in a status that depends on the machine.
    auto* status = std::get_if<wire::StatusReply>(&outgoing.envelope.message);
    if (status != nullptr) status->isa.clear();
    std::string text = "to = " + std::to_string(static_cast<int>(outgoing.to)) + " " +
                       outgoing.client.tenant + " " + whom(outgoing.client) + " " +
                       std::to_string(outgoing.envelope.request[0]) + "." +
                       std::to_string(outgoing.envelope.request[1]) + "\n" +
                       wire::testing::dump(outgoing.envelope.message);
    hasher_.field("outgoing", text);
    if (file_.is_open()) file_ << text << "\n";
    if (const auto* prefix = std::get_if<wire::PrefixReply>(&outgoing.envelope.message)) {
      prefix_ = prefix->id;
    }
  }

  // A letter for the door, followed by the client's name.
  static std::string whom(const Client& client) {
    if (client.tenant.empty()) return "";
    return (client.door == Door::kHttp ? "h" : "g") + client.name;
  }

  void fail_sometimes(wire::Message& answer) {
    if (!may_fail_ || !one_in(30)) return;
    const Error error = {ErrorCode::kInternal, "", "the disk failed"};
    if (auto* ack = std::get_if<wire::StoreAck>(&answer)) ack->error = error;
    if (auto* written = std::get_if<wire::StorePagesDone>(&answer)) written->error = error;
    if (auto* computed = std::get_if<wire::PrefillDone>(&answer)) computed->error = error;
    if (auto* decoded = std::get_if<wire::DecodeDone>(&answer)) decoded->error = error;
    if (auto* loaded = std::get_if<wire::LoadPagesDone>(&answer); loaded && loaded->good > 0) {
      --loaded->good;
      loaded->error = {ErrorCode::kDataCorrupt, "", "a page is damaged"};
    }
  }

  // ---- What clients do --------------------------------------------------------------------------

  bool one_in(uint64_t n) { return random_.below(n) == 0; }
  std::string some_tenant() { return one_in(4) ? "b" : kLocalTenant; }
  Client some_client(const std::string& tenant) {
    if (one_in(4)) return {tenant, "web", Door::kHttp};
    return {tenant, std::to_string(random_.below(3))};
  }
  std::string some_text(const char* name, uint64_t kinds) {
    const uint64_t kind = random_.below(kinds);
    return testing::long_text(name + std::to_string(kind), static_cast<int>(10 + 15 * kind));
  }
  std::optional<int64_t> some_ms() {
    if (!one_in(3)) return std::nullopt;
    return 1 + static_cast<int64_t>(random_.below(4000));
  }
  void post(wire::Message message) {
    numbers_.push_back(post_as(some_tenant(), std::move(message)));
  }
  uint64_t post_as(const std::string& tenant, wire::Message message) {
    return world_->post_from(some_client(tenant), std::move(message));
  }
  std::string some_id(const std::string& tenant) {
    const uint64_t number = world_->post(wire::ChunkListRequest{}, "list", tenant);
    const auto listed = world_->all<wire::ChunkListReply>(number);
    if (listed.empty() || listed[0].chunks.empty()) return "chunk_00000000";
    return listed[0].chunks[random_.below(listed[0].chunks.size())].id;
  }
  std::string some_session() { return "session" + std::to_string(random_.below(3)); }
  wire::RequestId some_request() {
    if (numbers_.empty()) return {};
    const uint64_t back = random_.below(std::min<uint64_t>(numbers_.size(), 6));
    return testing::request_id(numbers_[numbers_.size() - 1 - back]);
  }

  // Chooses the prompt of the request.
  void compose(const std::string& tenant, wire::GenerateRequest& request) {
    const std::string id = some_id(tenant);
    const std::string query = some_text("query", 4);
    if (one_in(8)) {
      request.prompt = some_text("raw", 3);
      return;
    }
    if (one_in(6)) {
      request.messages.push_back({.role = "user", .content = query, .reasoning = {}});
      if (id.starts_with("output_") && one_in(2)) request.previous_output = id;
      return;
    }
    request.chunks = {testing::query_text(query)};
    if (id.starts_with("output_") && one_in(2)) {
      request.chunks.insert(request.chunks.begin(), testing::output_ref(id));
    } else if (one_in(2)) {
      request.chunks.insert(request.chunks.begin(), {ChunkType::kContext, "", some_text("ctx", 5)});
    }
    if (one_in(2)) {
      request.chunks.insert(request.chunks.begin(), testing::system_text(some_text("system", 3)));
    }
    if (one_in(4)) request.session = some_session();
  }
  void generate() {
    const std::string tenant = some_tenant();
    wire::GenerateRequest request;
    compose(tenant, request);
    if (one_in(2)) request.sampling.seed = random_.below(100);
    request.max_tokens = 1 + static_cast<int32_t>(random_.below(40));
    request.stream = one_in(2);
    if (request.stream && one_in(3)) request.delta_credit = static_cast<int32_t>(random_.below(4));
    request.reuse = !one_in(12);
    request.thinking = one_in(3);
    if (one_in(10)) request.timeout_ms = 200;
    if (one_in(3)) request.on_missing = OnMissing::kSkip;
    request.retain_output = request.session.empty() && !one_in(3);
    if (one_in(3)) request.think_policy = static_cast<ThinkPolicy>(random_.below(3));
    if (request.retain_output || !request.session.empty()) {
      if (one_in(4)) request.output_pinned = true;
      if (one_in(4)) request.output_name = "name" + std::to_string(random_.below(3));
      request.output_ttl_ms = some_ms();
      request.output_priority = static_cast<int32_t>(random_.below(101));
      request.output_priority_ms = some_ms();
    }
    if (one_in(4)) {
      request.prompt_priority = static_cast<int32_t>(random_.below(101));
      request.prompt_priority_ms = 500;
    }
    numbers_.push_back(post_as(tenant, std::move(request)));
  }
  void put() {
    wire::ChunkPut put{one_in(2) ? ChunkType::kSystemPrompt : ChunkType::kContext, ""};
    put.text = put.type == ChunkType::kContext ? some_text("ctx", 5) : some_text("system", 3);
    if (one_in(2)) put.pinned = one_in(2);
    put.ttl_ms = some_ms();
    post(std::move(put));
  }
  void update() {
    const std::string tenant = some_tenant();
    wire::ChunkUpdate update;
    update.id = some_id(tenant);
    update.touch = one_in(2);
    if (one_in(2)) update.pinned = one_in(2);
    if (one_in(5)) update.published = one_in(2);
    if (one_in(5)) update.name = one_in(3) ? "" : "name" + std::to_string(random_.below(3));
    update.ttl_ms = some_ms();
    update.priority = static_cast<int32_t>(random_.below(101));
    update.priority_ms = some_ms();
    post_as(tenant, std::move(update));
  }
  void remove() {
    const std::string tenant = some_tenant();
    wire::ChunkDelete request{some_id(tenant)};
    if (one_in(3)) request.all = true;
    post_as(tenant, request);
    if (one_in(4)) post_as(tenant, request);
  }
  void use_prefixes() {
    if (one_in(2)) {
      wire::PrefixCache cache;
      cache.chunks = {testing::system_text(some_text("system", 3))};
      cache.stream = one_in(2);
      return post(std::move(cache));
    }
    one_in(2) ? post(wire::PrefixAttach{prefix_}) : post(wire::PrefixRelease{prefix_});
  }
  void use_sessions() {
    switch (random_.below(5)) {
      case 0: return post(wire::SessionListRequest{});
      case 1: return post(wire::SessionGet{some_session()});
      case 2: return post(wire::SessionDelete{some_session(), one_in(2)});
      case 3: return post(wire::PolicyGet{});
      default:
        return post(wire::PolicySet{one_in(2) ? ChunkType::kOutput : ChunkType::kContext,
                                    one_in(2) ? 3000 : 0});
    }
  }
  void look() {
    switch (random_.below(10)) {
      case 0: return post(wire::StatusRequest{});
      case 1: return post(wire::StatsRequest{});
      case 2: return post(wire::EventsRequest{});
      case 3: return post(wire::ChunkSearch{"word1 query0"});
      case 4: return post(wire::ChunkGet{some_id(kLocalTenant)});
      case 5: return post(wire::TokenizeRequest{some_text("ctx", 5)});
      case 6: return post(wire::DetokenizeRequest{{200, 201, 202}});
      case 7: return post(wire::FsckRequest{.repair = one_in(2), .state_dir = {}});
      case 8: return post(wire::Ping{});
      default: {
        wire::ApplyTemplateRequest request;
        request.messages.push_back({.role = "user", .content = "Why?", .reasoning = {}});
        return post(std::move(request));
      }
    }
  }
  void end_something() {
    switch (random_.below(4)) {
      case 0: return post(wire::CancelRequest{some_request()});
      case 1: return post(wire::DeltaCredit{some_request(), 2});
      case 2:
        world_->core().on_client(some_client(some_tenant()), {{}, wire::ClientGone{}});
        return;
      default: return post(wire::CancelRequest{});
    }
  }
  void fail_somebody() {
    switch (random_.below(24)) {
      case 0: return world_->restart(Actor::kPrefill);
      case 1: return world_->restart(Actor::kDecode);
      case 2: return world_->restart(Actor::kStore);
      case 3: return world_->restart(Actor::kGateway);
      case 4:
        may_fail_ = false;
        world_->pump();
        stop();
        start();
        return;
      case 5: {
        SchedulerOptions limits;
        limits.max_pinned = one_in(2) ? 0.1 : 0.3;
        limits.chunk_memory_ratio = one_in(2) ? 0.2 : 0.6;
        limits.requests_running_max = 4;
        limits.requests_waiting_max = 12;
        return world_->core().set_limits(limits);
      }
      case 6: world_->idle_store(); return;
      default: may_fail_ = one_in(3);
    }
  }
  void step() {
    switch (random_.below(24)) {
      case 0:
      case 1:
      case 2: generate(); break;
      case 3: put(); break;
      case 4:
      case 5: update(); break;
      case 6:
      case 7: remove(); break;
      case 8: use_prefixes(); break;
      case 9: use_sessions(); break;
      case 10: look(); break;
      case 11: end_something(); break;
      case 12:
      case 13: fail_somebody(); break;
      case 14:
      case 15: world_->clock.advance_us(static_cast<int64_t>(random_.below(400'000))); break;
      case 16: world_->clock.advance_us(one_in(8) ? 12'000'000 : 50'000); break;
      default: world_->pump(random_.below(20));
    }
    world_->core().on_tick();
  }

  Random random_{GetParam().seed + 1000 * other_seed()};
  Random ids_{random_()};
  Hasher hasher_;
  std::ofstream file_;
  testing::MemoryDisk disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SchedulerWorld> world_;
  bool may_fail_ = false;
  std::string prefix_ = "prefix_0";
  std::vector<uint64_t> numbers_;  // of requests
};

TEST_P(GoldenTrace, is_the_same) {
  if (testing::kEmulated) GTEST_SKIP() << "other weights have other names of pages";
  start();
  for (int i = 0; i < GetParam().steps && !HasFatalFailure(); ++i) step();
  may_fail_ = false;
  world_->core().stop();
  for (int i = 0; i < 200 && !world_->core().stopped(); ++i) {
    world_->pump();
    world_->clock.advance_us(100'000);
    world_->core().on_tick();
  }
  EXPECT_TRUE(world_->core().stopped());
  const std::string digest = hasher_.finish().hex();
  if (other_seed() == 0) {
    EXPECT_EQ(digest, GetParam().digest);
  }
  std::cout << GetParam().name << " " << other_seed() << " " << digest << "\n";
  stop();
}

INSTANTIATE_TEST_SUITE_P(Lives, GoldenTrace, ::testing::ValuesIn(kLives),
                         [](const auto& life) { return life.param.name; });

}  // namespace
}  // namespace cascade
