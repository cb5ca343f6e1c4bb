// vanish: clients close their sockets while they wait or read, beside some that stay.
#include <algorithm>
#include <array>
#include <map>

#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"
#include "bench/serve/timers.h"

namespace cascade::serve {
namespace {

// When a client closes its socket: at once; when its request was accepted (without and with a
// stream); after one Delta; after two.
enum class Leaves { kAtOnce, kAccepted, kAcceptedStream, kOneDelta, kTwoDeltas };
constexpr std::array kLeaves = {"at_once", "accepted", "accepted_stream", "one_delta",
                                "two_deltas"};

struct Leaver {
  ExchangePtr exchange;
  Leaves leaves;
  bool refused() const { return exchange->error && exchange->error->retry_after_ms > 0; }
  bool goes() const {
    if (exchange->ended()) return !refused();
    switch (leaves) {
      case Leaves::kAtOnce: return true;
      case Leaves::kAccepted:
      case Leaves::kAcceptedStream: return exchange->accepted_us > 0;
      case Leaves::kOneDelta: return !exchange->delta_us.empty();
      case Leaves::kTwoDeltas: break;
    }
    return exchange->delta_us.size() >= 2;
  }
};

struct LeaverCounts {
  int64_t clients = 0, left = 0, answered = 0, failed = 0, refusals = 0;
};

struct SteadyClient {
  int connection = 0;
  std::string prompt;
  std::vector<int32_t> expected;
  int64_t outputs = 0, different = 0, refused = 0, errors = 0;
};

class Crowd {
 public:
  Crowd(const Stage& stage, const VanishOptions& options, Service& service)
      : stage_(stage), options_(options), service_(service), traffic_(*service.traffic) {}

  // Computes what each steady client gets when nobody else is there.
  Status compute_alone() {
    for (int64_t i = 0; i < options_.steady; ++i) {
      SteadyClient steady;
      ASSIGN_OR_RETURN(steady.prompt, stage_.texts().words(i, options_.prompt_tokens));
      ASSIGN_OR_RETURN(steady.connection, traffic_.connect(service_.daemon->endpoint()));
      ASSIGN_OR_RETURN(const ExchangePtr alone, traffic_.run(steady.connection, ask(steady)));
      steady.expected = alone->final->token_ids;
      steady_.push_back(std::move(steady));
    }
    return {};
  }

  Status run() {
    for (size_t i = 0; i < steady_.size(); ++i) RETURN_IF_ERROR(go_on(i));
    while (gone_ < options_.clients) {
      while (came_ < options_.clients && static_cast<int64_t>(here_.size()) < options_.at_once) {
        RETURN_IF_ERROR(come());
        leave();
      }
      for (const uint64_t tag : retries_.take_due(now_us())) RETURN_IF_ERROR(try_again(tag));
      ASSIGN_OR_RETURN(const auto ended, traffic_.pump(retries_.next_us(now_us() + kLookUs)));
      RETURN_IF_ERROR(take(ended, /*again=*/true));
      wait_if_refused(ended);
      leave();
      rss_mb_max_ = std::max(rss_mb_max_, rss_mb());
    }
    // The steady clients finish their last requests.
    while (traffic_.in_flight() > 0) {
      ASSIGN_OR_RETURN(const auto ended, traffic_.pump(now_us() + kLookUs));
      RETURN_IF_ERROR(take(ended, /*again=*/false));
    }
    return {};
  }

  // The seconds until no request runs or waits; nothing if that takes too long.
  Result<std::optional<double>> settle() {
    const int64_t begin = now_us();
    for (;;) {
      ASSIGN_OR_RETURN(const wire::StatusReply status, service_.status());
      const double passed_s = static_cast<double>(now_us() - begin) / 1e6;
      if (status.requests_running + status.requests_waiting == 0) {
        return std::optional<double>(passed_s);
      }
      if (passed_s > options_.settle_seconds) return std::optional<double>();
      for (const int64_t until = now_us() + kLookUs; now_us() < until;) {
        RETURN_IF_ERROR(traffic_.pump(until));
      }
    }
  }

  const std::vector<SteadyClient>& steady() const { return steady_; }
  const std::array<LeaverCounts, kLeaves.size()>& counts() const { return counts_; }
  double rss_mb() const { return static_cast<double>(service_.memory().resident_bytes) / 1e6; }
  double rss_mb_max() const { return rss_mb_max_; }

 private:
  wire::GenerateRequest ask(const SteadyClient& steady) const {
    return raw_request(steady.prompt, options_.steady_tokens);
  }

  Status go_on(size_t i) {
    RETURN_IF_ERROR(traffic_.send(steady_[i].connection, ask(steady_[i]), i));
    return {};
  }

  // `ended` has the requests of steady clients, and those of clients that are about to leave.
  Status take(const std::vector<ExchangePtr>& ended, bool again) {
    for (const ExchangePtr& exchange : ended) {
      if (exchange->tag >= steady_.size()) continue;
      SteadyClient& steady = steady_[exchange->tag];
      const int64_t retry_after_ms = exchange->error ? exchange->error->retry_after_ms : 0;
      if (retry_after_ms > 0) {
        ++steady.refused;
        if (again) retries_.add(now_us() + retry_after_ms * 1000, exchange->tag);
        continue;
      }
      if (exchange->error) {
        ++steady.errors;
      } else {
        ++steady.outputs;
        steady.different += exchange->final->token_ids == steady.expected ? 0 : 1;
      }
      if (again) RETURN_IF_ERROR(go_on(exchange->tag));
    }
    return {};
  }

  // Sends the request of the steady client `tag` again, or that of the leaving client with this
  // tag.
  Status try_again(uint64_t tag) {
    if (tag < steady_.size()) return go_on(tag);
    for (Leaver& leaver : here_) {
      if (leaver.exchange->tag == tag) return ask(leaver, leaver.exchange->connection, tag);
    }
    return {};
  }

  void wait_if_refused(const std::vector<ExchangePtr>& ended) {
    for (const ExchangePtr& exchange : ended) {
      if (exchange->tag < steady_.size() || !exchange->error) continue;
      ++counts_[(exchange->tag - steady_.size()) % kLeaves.size()].refusals;
      retries_.add(now_us() + exchange->error->retry_after_ms * 1000, exchange->tag);
    }
  }

  Status ask(Leaver& leaver, int connection, uint64_t tag) {
    ASSIGN_OR_RETURN(std::string text, stage_.texts().words(tag, options_.prompt_tokens));
    wire::GenerateRequest request = raw_request(std::move(text), options_.max_tokens);
    request.stream = leaver.leaves != Leaves::kAtOnce && leaver.leaves != Leaves::kAccepted;
    ASSIGN_OR_RETURN(leaver.exchange, traffic_.send(connection, std::move(request), tag));
    return {};
  }

  Status come() {
    const auto number = static_cast<uint64_t>(came_++);
    Leaver leaver = {nullptr, static_cast<Leaves>(number % kLeaves.size())};
    ASSIGN_OR_RETURN(const int connection, traffic_.connect(service_.daemon->endpoint()));
    RETURN_IF_ERROR(ask(leaver, connection, steady_.size() + number));
    here_.push_back(std::move(leaver));
    ++counts_[number % kLeaves.size()].clients;
    return {};
  }

  void leave() {
    std::erase_if(here_, [&](const Leaver& leaver) {
      if (!leaver.goes()) return false;
      LeaverCounts& counts = counts_[static_cast<size_t>(leaver.leaves)];
      const Exchange& exchange = *leaver.exchange;
      ++(exchange.error ? counts.failed : (exchange.final ? counts.answered : counts.left));
      traffic_.vanish(leaver.exchange->connection);
      ++gone_;
      return true;
    });
  }

  const Stage& stage_;
  const VanishOptions& options_;
  Service& service_;
  Traffic& traffic_;
  std::vector<SteadyClient> steady_;
  Timers retries_;  // of refused steady requests
  std::vector<Leaver> here_;
  std::array<LeaverCounts, kLeaves.size()> counts_;
  int64_t came_ = 0, gone_ = 0;
  double rss_mb_max_ = 0;
};

struct Memory {
  double before = 0, most = 0, after = 0;
};

// Returns what went wrong, if anything did, after printing the report.
Status print(const Stage& stage, const wire::StatusReply& status, const Crowd& crowd,
             const Memory& memory, const std::optional<double>& settled_s) {
  OrderedJson header = stage.header("vanish", status);
  int64_t outputs = 0, wrong = 0;
  for (const SteadyClient& steady : crowd.steady()) {
    outputs += steady.outputs;
    wrong += steady.different + steady.errors;
  }
  header["steady_outputs"] = outputs;
  header["steady_unchanged"] = wrong == 0;
  header["slots_free"] = settled_s.has_value();
  header["slots_free_after_s"] = settled_s ? OrderedJson(*settled_s) : OrderedJson();
  header["requests_done"] = status.requests_done;
  header["requests_cancelled"] = status.requests_cancelled;
  header["rss_mb_before"] = memory.before;
  header["rss_mb_max"] = memory.most;
  header["rss_mb_after"] = memory.after;
  speed::Report report(std::move(header));
  for (size_t i = 0; i < kLeaves.size(); ++i) {
    const LeaverCounts& counts = crowd.counts()[i];
    OrderedJson row;
    row["leaves"] = kLeaves[i];
    row["clients"] = counts.clients;
    row["left"] = counts.left;
    row["answered_before"] = counts.answered;
    row["failed_before"] = counts.failed;
    row["refusals"] = counts.refusals;
    report.add(std::move(row));
  }
  for (size_t i = 0; i < crowd.steady().size(); ++i) {
    const SteadyClient& steady = crowd.steady()[i];
    OrderedJson row;
    row["steady"] = i;
    row["outputs"] = steady.outputs;
    row["different"] = steady.different;
    row["refused"] = steady.refused;
    row["errors"] = steady.errors;
    report.add(std::move(row));
  }
  RETURN_IF_ERROR(stage.print(report));
  if (!settled_s) {
    return Error{ErrorCode::kInternal, "", "requests of clients that are gone still have slots"};
  }
  if (wrong == 0) return {};
  return Error{ErrorCode::kInternal, "",
               std::to_string(wrong) + " steady outputs were not what they are alone"};
}

}  // namespace

Status vanish(const VanishOptions& options) {
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  RETURN_IF_ERROR(stage->check_context(
      "--prompt-tokens",
      options.prompt_tokens + std::max(options.max_tokens, options.steady_tokens)));
  ASSIGN_OR_RETURN(const auto service, stage->start_service());
  Crowd crowd(*stage, options, *service);
  RETURN_IF_ERROR(crowd.compute_alone());
  Memory memory;
  memory.before = crowd.rss_mb();
  RETURN_IF_ERROR(crowd.run());
  ASSIGN_OR_RETURN(const std::optional<double> settled_s, crowd.settle());
  memory.after = crowd.rss_mb();
  memory.most = std::max({crowd.rss_mb_max(), memory.before, memory.after});
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());
  return print(*stage, status, crowd, memory, settled_s);
}

}  // namespace cascade::serve
