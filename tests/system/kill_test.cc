// The daemon is killed again and again while it works: everything that it acknowledged exists
// afterwards, and it computes the same as before.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "base/failpoint.h"
#include "clients/cpp/endpoint.h"
#include "tests/long_tests.h"
#include "tests/seed.h"
#include "tests/system/kill_worker.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using client::Client;
using testing::DaemonProcess;
using testing::KillWorker;
using testing::ScratchDir;

constexpr int kWorkers = 3;
constexpr int kKilled = 128 + SIGKILL;
#ifdef __SANITIZE_ADDRESS__
constexpr int kRounds = 10;
constexpr int kLongRounds = 20;
#else
constexpr int kRounds = 16;
constexpr int kLongRounds = 100;
#endif

// The largest number of additional rounds until all kinds of work were seen. Each round works twice
// as long as the one before, and the last rounds work for a minute, so that even the slowest
// machine sees all kinds.
constexpr int kMoreRoundsMax = 12;
constexpr int64_t kMoreWorkUs = 100'000;

// How much longer a round lasts if it waits for a failpoint to be reached.
constexpr int64_t kFailpointUs = 100'000;
// The time of a short generation for which the lengths of the rounds were chosen. Sanitizers and
// machines that are busy with something else need longer.
constexpr int64_t kGenerationUs = 20'000;
// How many rounds in a row may pass without the end of a generation before rounds get longer.
// Rounds stay below half a minute.
constexpr int64_t kBarrenRoundsMax = 4;
constexpr int64_t kPaceMax = 100;
// How long it may take until a failpoint is passed, or until a daemon whose connections broke has
// ended. The time is enough on any machine: only a hang fails.
constexpr int64_t kPatientUs = 60'000'000;

// Small files and a small budget, so that files are compacted and pages make room for others.
const std::vector<std::string> kSmallDisk = {"--max-disk", "40M",       "--kv-memory",
                                             "64M",        "--threads", "2"};

// The number of rounds: CASCADE_KILL_ROUNDS, if it is set.
int asked_rounds() {
  const char* asked = std::getenv("CASCADE_KILL_ROUNDS");
  return asked != nullptr ? std::atoi(asked) : testing::long_or(kLongRounds, kRounds);
}

// The course of one round.
struct Round {
  std::string failpoint;  // "": none
  int64_t work_us = 0;    // until the requests end
  int64_t idle_us = 0;    // then, until the daemon is killed, if it still runs
  bool stores = false;    // the kill waits until the workers have ended and pages are on disk
};

class KillLoop {
 public:
  explicit KillLoop(uint64_t seed)
      : random_(seed), reference_(scratch_.path() / "reference", {}, scratch_.path() / "cold") {
    for (int i = 0; i < kWorkers; ++i)
      workers_.push_back(std::make_unique<KillWorker>(i, random_()));
    auto connected = Client::connect(reference_.endpoint(), testing::kPatientClient);
    if (!connected.ok()) return;
    reference_client_.emplace(*std::move(connected));
    measure_pace();
  }

  bool ready() const { return reference_client_.has_value(); }

  bool has_seen_all() const { return counts().tokens_loaded > 0 && counts().tokens_compared > 0; }

  // False if something is wrong.
  bool play(const Round& round) {
    ++rounds_;
    failpoint_ = round.failpoint;
    DaemonProcess daemon(scratch_.path() / "run", {}, scratch_.path() / "state", kSmallDisk,
                         round.failpoint);
    bool by_itself = true;
    if (daemon.serving() && verify(daemon)) {
      by_itself = !work(daemon, round);
    } else if (faults_.empty() && !daemon.ended_within(kPatientUs)) {
      const std::string kept = keep_state(daemon);
      fault("the daemon lives, but " + gone_ + kept + "\n" + daemon.log());
    }
    end_of(daemon);
    if (by_itself && faults_.empty()) {
      if (round.failpoint.empty()) fault("the daemon ended by itself: " + daemon.log());
      ++failpoints_hit_[round.failpoint.substr(0, round.failpoint.find(':'))];
    }
    return faults_.empty();
  }

  // Starts and stops the daemon in good order.
  bool rest() {
    DaemonProcess daemon(scratch_.path() / "run", {}, scratch_.path() / "state", kSmallDisk);
    if (!daemon.serving() || !verify(daemon)) fault("no last start: " + daemon.log());
    if (daemon.stop(SIGTERM) != 0) fault("no good end: " + daemon.log());
    return faults_.empty();
  }

  Round next() {
    Round round;
    const auto names = failpoint_names();
    const auto work_us =
        static_cast<int64_t>(random_.below(uint64_t{1} << (14 + random_.below(5))));
    round.work_us = work_us * pace_;
    if (random_.below(2) == 0) {
      const uint64_t passages = uint64_t{1} << random_.below(5);
      round.failpoint = std::string(names[random_.below(names.size())]) + ":" +
                        std::to_string(1 + random_.below(passages));
      round.work_us += kFailpointUs * pace_;
    }
    // Tidying up begins after a while without requests.
    if (random_.below(8) == 0)
      round.idle_us = 150'000 + static_cast<int64_t>(random_.below(250'000));
    return round;
  }

  // The additional round number `more`, from 0. These rounds go on until all kinds of work were
  // seen.
  Round next_of_more(int more) const {
    const int64_t work_us = std::min((kMoreWorkUs << more) * pace_, kPatientUs);
    return {.failpoint = "", .work_us = work_us, .stores = true};
  }

  const std::vector<std::string>& faults() const { return faults_; }

  testing::KillCounts counts() const {
    testing::KillCounts all;
    for (const auto& worker : workers_) {
      const testing::KillCounts& one = worker->counts();
      all.acknowledged += one.acknowledged;
      all.refused += one.refused;
      all.open += one.open;
      all.generations += one.generations;
      all.tokens_loaded += one.tokens_loaded;
      all.tokens_compared += one.tokens_compared;
      for (const auto& [what, count] : one.refusals) all.refusals[what] += count;
    }
    return all;
  }

  void print() const {
    const testing::KillCounts all = counts();
    int64_t hits = 0;
    std::cout << rounds_ << " rounds, " << all.acknowledged << " operations acknowledged ("
              << all.generations << " generations), " << all.open << " left open, " << all.refused
              << " refused; " << chunks_verified_ << " chunks verified, " << chunks_adopted_
              << " of open operations; " << all.tokens_compared << " tokens compared, "
              << all.tokens_loaded << " loaded from disk\nfailpoints hit:";
    for (const auto& [name, count] : failpoints_hit_) {
      std::cout << ' ' << name << ' ' << count;
      hits += count;
    }
    std::cout << "; " << hits << " in all\nrefused:";
    for (const auto& [what, count] : all.refusals) std::cout << ' ' << count << ' ' << what << ';';
    std::cout << std::endl;
  }

 private:
  void measure_pace() {
    wire::GenerateRequest request;
    request.prompt = "What is the capital of France?";
    request.max_tokens = 16;
    const int64_t begin_us = testing::now_us();
    if (!reference_client_->generate(request).ok()) reference_client_.reset();
    pace_ = std::max<int64_t>(1, (testing::now_us() - begin_us) / kGenerationUs);
  }

  // Machines may become busy after the pace was measured, so rounds in which no generation ends get
  // longer.
  void keep_pace() {
    barren_rounds_ = counts().generations == generations_seen_ ? barren_rounds_ + 1 : 0;
    generations_seen_ = counts().generations;
    if (barren_rounds_ < kBarrenRoundsMax || pace_ >= kPaceMax) return;
    barren_rounds_ = 0;
    pace_ *= 2;
  }

  void fault(const std::string& what) {
    faults_.push_back("round " + std::to_string(rounds_) + " (" + failpoint_ + "): " + what);
  }

  void take_faults() {
    for (const auto& worker : workers_) {
      for (const std::string& what : worker->faults()) fault(what);
    }
  }

  // Ends a daemon that hangs with SIGABRT, so that there may be a core, and keeps its state.
  std::string keep_state(const DaemonProcess& daemon) {
    const auto kept = std::filesystem::path(::testing::TempDir()) / random_id("kill_state");
    ::kill(daemon.pid(), SIGABRT);
    std::error_code ignored;
    (void)daemon.ended_within(kPatientUs);
    std::filesystem::copy(scratch_.path() / "state", kept, std::filesystem::copy_options::recursive,
                          ignored);
    return "; its state: " + kept.string();
  }

  void end_of(DaemonProcess& daemon) {
    const int code = daemon.stop(SIGKILL);
    if (code != kKilled) fault("exit code " + std::to_string(code) + ": " + daemon.log());
    const std::string log = daemon.log();
    for (const char* bad :
         {" error ", " critical ", "checksum", "cut off", "commits are missing"}) {
      if (log.find(bad) != std::string::npos) fault(log);
    }
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path())) {
      if (entry.path().filename().string().starts_with("log_")) {
        std::filesystem::remove(entry.path(), ignored);
      }
    }
  }

  static void join(std::vector<std::thread>& threads) {
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }

  // Waits up to ten seconds for pages on disk: the requests may have been too short to fill a page.
  static void wait_for_pages(const DaemonProcess& daemon) {
    auto client = Client::connect(daemon.endpoint(), testing::kPatientClient);
    if (!client.ok()) return;
    for (int i = 0; i < 1000; ++i) {
      const auto stats = client->get_chunk_stats();
      if (!stats.ok() || stats->disk->pages_written > 0) return;
      if (daemon.ended_within(10'000)) return;
    }
  }

  // Whether the daemon had to be killed.
  bool work(DaemonProcess& daemon, const Round& round) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (const auto& worker : workers_) {
      threads.emplace_back([&] { worker->work(daemon.endpoint(), stop); });
    }
    // The kill comes in the midst of work or after a while without requests.
    const bool ended = daemon.ended_within(round.work_us);
    if (!ended && round.idle_us > 0) {
      stop = true;
      (void)daemon.ended_within(round.idle_us);
    }
    if (!ended && round.stores) {
      stop = true;
      join(threads);
      wait_for_pages(daemon);
    }
    const bool lives = !daemon.ended_within(0);
    if (lives) ::kill(daemon.pid(), SIGKILL);
    stop = true;
    join(threads);
    take_faults();
    keep_pace();
    return lives;
  }

  // Checks everything that was acknowledged. False if the daemon has ended meanwhile, or something
  // is wrong.
  bool verify(const DaemonProcess& daemon) {
    auto connected = Client::connect(daemon.endpoint(), testing::kPatientClient);
    if (!connected.ok()) return gone(connected.error());
    const int64_t asked_us = testing::now_us();
    const auto list = connected->list_all_chunks(std::nullopt);
    if (!list.ok()) return gone(list.error());
    std::map<std::string, bool> listed;  // whether a worker knows the chunk
    for (const client::ChunkInfo& info : *list) listed[info.chunk.id] = false;
    for (const auto& worker : workers_) {
      if (!verify(worker->ledger(), *connected, asked_us, listed)) return false;
    }
    for (const auto& [id, known] : listed) {
      if (!known && !explain(id, *connected)) return false;
    }
    for (const auto& worker : workers_) {
      const std::string wrong = worker->ledger().close();
      if (!wrong.empty()) fault(wrong);
    }
    for (const auto& worker : workers_) {
      if (!worker->replay(*connected, *reference_client_)) {
        gone_ = "replay: " + worker->gone();
        return false;
      }
    }
    take_faults();
    return faults_.empty();
  }

  bool verify(testing::Ledger& ledger, Client& client, int64_t asked_us,
              std::map<std::string, bool>& listed) {
    std::vector<std::string> ids;
    for (const auto& [id, entry] : ledger.entries()) ids.push_back(id);
    for (const std::string& id : ids) {
      const auto found = listed.find(id);
      if (found != listed.end()) found->second = true;
      const auto seen = client.get_chunk(id);
      if (!seen.ok() && seen.error().code != ErrorCode::kNotFound) return gone(seen.error());
      const std::string wrong =
          seen.ok() ? ledger.check_there(*seen, asked_us) : ledger.check_missing(id);
      if (!wrong.empty()) fault(wrong + ledger.history());
      ++chunks_verified_;
    }
    return faults_.empty();
  }

  // Looks for the operation that made a chunk without an acknowledgement: the operation must have
  // been under way when the daemon was killed.
  bool explain(const std::string& id, Client& client) {
    const auto seen = client.get_chunk(id);
    if (!seen.ok() && seen.error().code == ErrorCode::kNotFound) return true;  // its time is over
    if (!seen.ok()) return gone(seen.error());
    std::string all;
    for (const auto& worker : workers_) {
      const std::string wrong = worker->ledger().adopt(*seen);
      if (wrong.empty()) {
        ++chunks_adopted_;
        return true;
      }
      all += wrong + "; ";
    }
    fault("there, though it was deleted or never made: " + all + seen->text.substr(0, 60));
    return false;
  }

  bool gone(const Error& error) {
    gone_ = error.to_string();
    if (!client::is_unreachable(error)) fault(gone_);
    return false;
  }

  ScratchDir scratch_;
  Random random_;
  DaemonProcess reference_;  // never killed
  std::optional<Client> reference_client_;
  std::vector<std::unique_ptr<KillWorker>> workers_;
  std::vector<std::string> faults_;
  std::string gone_;  // why the daemon seems to have ended
  std::map<std::string, int64_t> failpoints_hit_;
  std::string failpoint_;  // of this round
  int64_t pace_ = 1;       // how many times as long as usual a generation takes
  int64_t barren_rounds_ = 0, generations_seen_ = 0;
  int64_t rounds_ = 0, chunks_verified_ = 0, chunks_adopted_ = 0;
};

// Makes outputs with long prompts, deletes most of them, and then asks for nothing, so that the
// daemon does everything that it does with its files. Stops when the daemon ends.
std::vector<Chunk> fill_and_empty(Client& client, const std::string& name) {
  constexpr int kOutputs = 10;
  std::vector<Chunk> outputs;
  for (int i = 0; i < kOutputs; ++i) {
    wire::GenerateRequest request;
    std::string prompt = "Number " + std::to_string(i) + " of " + name + ".";
    for (int word = 0; word < 200; ++word) prompt += " word";
    request.prompt = prompt;
    request.retain_output = true;
    request.max_tokens = 4;
    const auto generation = client.generate(request);
    if (!generation.ok()) return outputs;
    const auto output = client.get_chunk(generation->output_chunk_id);
    if (!output.ok()) return outputs;
    outputs.push_back(*output);
  }
  // K and V of the outputs are written later, in the background.
  const auto is_written = [&] {
    const auto stats = client.get_chunk_stats();
    return !stats.ok() || stats->disk->pages_written >= kOutputs * 3;
  };
  if (!testing::wait_until(is_written)) ADD_FAILURE() << "pages are not written";
  for (int i = 0; i < kOutputs; ++i) {
    if (i % 5 != 4 && !client.delete_chunk(outputs[static_cast<size_t>(i)].id).ok()) break;
  }
  return {outputs[4], outputs[9]};
}

// Starts a daemon that will be killed at the failpoint `name`, checks that `kept` is there, and
// gives the daemon work until it is killed. Returns the chunks that it may be asked for afterwards.
std::vector<Chunk> die_at(const std::string& name, const std::filesystem::path& run,
                          const std::filesystem::path& state, std::vector<Chunk> kept) {
  DaemonProcess daemon(run, {}, state, {"--max-disk", "12M"}, name);
  if (daemon.serving()) {
    auto client = Client::connect(daemon.endpoint(), testing::kPatientClient);
    if (client.ok()) {
      for (const Chunk& chunk : kept) {
        const auto seen = client->get_chunk(chunk.id);
        const bool gone = !seen.ok() && client::is_unreachable(seen.error());
        EXPECT_TRUE(gone || (seen.ok() && seen->token_ids == chunk.token_ids)) << chunk.id;
      }
      kept = fill_and_empty(*client, name);
    }
  }
  EXPECT_TRUE(daemon.ended_within(kPatientUs)) << name << " is not passed\n" << daemon.log();
  EXPECT_EQ(daemon.stop(SIGKILL), kKilled) << daemon.log();
  return kept;
}

// Tests each failpoint, so that every name stands for a moment that really comes.
TEST(Kill, happens_at_every_failpoint) {
  const ScratchDir scratch;
  const std::string adopt = "recover_adopt";
  std::vector<Chunk> kept;
  for (const std::string_view name : failpoint_names()) {
    if (name == adopt) continue;
    kept = die_at(std::string(name), scratch.path() / "run", scratch.path() / "state", kept);
  }
  // Pages whose rows are lost are found again.
  die_at("kv_write_after", scratch.path() / "run", scratch.path() / "new_state", {});
  for (const char* file : {"metadata.db", "metadata.db-wal"}) {
    std::filesystem::remove(scratch.path() / "new_state" / file);
  }
  die_at(adopt, scratch.path() / "run", scratch.path() / "new_state", {});
}

TEST(Kill, loses_nothing_that_was_acknowledged_and_serves_no_wrong_byte) {
  KillLoop loop(testing::test_seed());
  ASSERT_TRUE(loop.ready());
  const int rounds = asked_rounds();
  for (int i = 0; i < rounds && loop.play(loop.next()); ++i) {
    if ((i + 1) % 500 == 0) loop.print();
  }
  for (int more = 0; more < kMoreRoundsMax && !loop.has_seen_all() && loop.faults().empty();) {
    loop.play(loop.next_of_more(more++));
  }
  if (loop.faults().empty()) loop.rest();
  loop.print();
  for (const std::string& what : loop.faults()) ADD_FAILURE() << what;
  EXPECT_GT(loop.counts().tokens_loaded, 0) << "nothing was read from disk";
  EXPECT_GT(loop.counts().tokens_compared, 0);
}

}  // namespace
}  // namespace cascade
