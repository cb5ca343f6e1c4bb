// overload: what is still served, and how fast the rest is refused, if far more is asked for.
#include <algorithm>
#include <cmath>

#include "bench/serve/arrivals.h"
#include "bench/serve/load_window.h"
#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"

namespace cascade::serve {
namespace {

// The warm-up before each measurement, so that it begins with a steady queue. It takes this share
// of the measurement's time, and lasts until this many times the number of requests that run at
// once were answered.
constexpr double kWarmupShare = 0.2;
constexpr double kWarmupSecondsMax = 10;
constexpr int64_t kWarmupRounds = 2;
// A capacity is measured until this many rounds were answered, but at most this many times as long
// as was asked for: requests that are cut at the edges of the measurement should weigh little.
constexpr int64_t kRoundsMin = 6;
constexpr double kLongerMax = 10;
// Answers have from half to one and a half times the wanted number of tokens: if requests began and
// ended together, the load would come in waves.
constexpr double kLengthSpread = 0.5;
// The largest number of requests that wait without being refused; further ones are not sent, only
// counted.
constexpr size_t kInFlightMax = 20'000;
// A measurement's figures are those of the whole and the extremes of this many parts.
constexpr size_t kParts = 3;

struct Measured {
  LoadWindow window;
  double cpu_s = 0;  // CPU time of this process
};

// The daemon's memory, once a second.
struct MemoryTrace {
  std::vector<double> second, rss_mb, anonymous_mb;

  void look(const Service& service, int64_t begin_us) {
    const double now_s = static_cast<double>(now_us() - begin_us) / 1e6;
    if (!second.empty() && now_s < second.back() + 1) return;
    const ProcessMemory memory = service.memory();
    second.push_back(now_s);
    rss_mb.push_back(static_cast<double>(memory.resident_bytes) / 1e6);
    anonymous_mb.push_back(static_cast<double>(memory.anonymous_bytes) / 1e6);
  }
};

class Loop {
 public:
  Loop(const Stage& stage, const OverloadOptions& options, Service& service)
      : stage_(stage), options_(options), service_(service), random_(stage.texts().seed()) {}

  Status prepare() {
    for (uint64_t i = 0; i < kPrompts; ++i) {
      ASSIGN_OR_RETURN(std::string text, stage_.texts().words(i, options_.prompt_tokens));
      prompts_.push_back(std::move(text));
    }
    for (int64_t i = 0; i < options_.connections; ++i) {
      ASSIGN_OR_RETURN(const int connection,
                       service_.traffic->connect(service_.daemon->endpoint()));
      connections_.push_back(connection);
    }
    return {};
  }

  // As a closed loop: there are `options.running` clients, as many as the requests that the daemon
  // runs at once. Each sends its next request when it has its answer.
  Result<Measured> closed(double seconds) {
    LoadWindow window = new_window(seconds);
    for (int64_t asking = 0;;) {
      if (look(window)) {
        const double passed_s = static_cast<double>(now_us() - window.begin_us()) / 1e6;
        const bool enough = window.done() >= kRoundsMin * options_.running;
        if (passed_s >= seconds * (enough ? 1 : kLongerMax)) break;
      }
      for (; asking < options_.running; ++asking) {
        window.sent(0);
        RETURN_IF_ERROR(send());
      }
      ASSIGN_OR_RETURN(const auto ended, service_.traffic->pump(now_us() + kSecondUs / 10));
      for (const ExchangePtr& exchange : ended) {
        if (exchange->error) return exchange->error->error;
        window.ended(*exchange);
        --asking;
      }
    }
    return finish(std::move(window));
  }

  // Requests come at their own times, whatever the daemon does.
  Result<Measured> open(double per_s, double seconds) {
    LoadWindow window = new_window(seconds);
    Arrivals arrivals(stage_.texts().seed(), per_s);
    const int64_t start_us = now_us();
    int64_t due_us = start_us + arrivals.next_us();
    for (;;) {
      for (; due_us <= now_us(); due_us = start_us + arrivals.next_us()) {
        RETURN_IF_ERROR(arrive(window, due_us));
      }
      int64_t until_us = due_us;
      if (look(window)) {
        const int64_t end_us = window.begin_us() + static_cast<int64_t>(seconds * 1e6);
        if (now_us() >= end_us) break;
        until_us = std::min(until_us, end_us);
        memory_.look(service_, window.begin_us());
      }
      ASSIGN_OR_RETURN(const auto ended, service_.traffic->pump(until_us));
      for (const ExchangePtr& exchange : ended) window.ended(*exchange);
    }
    return finish(std::move(window));
  }

  const MemoryTrace& memory() const { return memory_; }

 private:
  LoadWindow new_window(double seconds) const {
    const double warmup_s = std::min(seconds * kWarmupShare, kWarmupSecondsMax);
    return {now_us(), static_cast<int64_t>(warmup_s * 1e6), kWarmupRounds * options_.running};
  }

  bool look(LoadWindow& window) {
    if (!window.is_open()) cpu_begin_s_ = own_cpu_s();
    return window.look(now_us());
  }

  Result<Measured> finish(LoadWindow window) {
    window.close(now_us());
    const double cpu_s = own_cpu_s() - cpu_begin_s_;
    RETURN_IF_ERROR(empty());
    return Measured{std::move(window), cpu_s};
  }

  Status arrive(LoadWindow& window, int64_t due_us) {
    if (service_.traffic->in_flight() >= kInFlightMax) {
      window.unsent();
      return {};
    }
    window.sent(static_cast<double>(now_us() - due_us) / 1e3);
    return send();
  }

  Status send() {
    const std::string number = std::to_string(++sent_) + " ";
    const std::string& prompt = prompts_[sent_ % prompts_.size()];
    const int connection = connections_[sent_ % connections_.size()];
    RETURN_IF_ERROR(service_.traffic->send(connection, raw_request(number + prompt, length())));
    return {};
  }

  int64_t length() {
    const double factor = 1 + kLengthSpread * (2 * random_.unit() - 1);
    return std::max<int64_t>(1, std::llround(static_cast<double>(options_.max_tokens) * factor));
  }

  // Waits until everything has ended.
  Status empty() {
    while (service_.traffic->in_flight() > 0) {
      RETURN_IF_ERROR(service_.traffic->pump(now_us() + kSecondUs));
    }
    return {};
  }

  static constexpr size_t kPrompts = 64;
  const Stage& stage_;
  const OverloadOptions& options_;
  Service& service_;
  Random random_;  // of the answers' lengths
  std::vector<int> connections_;
  // Made beforehand, because the load should take little of the daemon's cores.
  std::vector<std::string> prompts_;
  uint64_t sent_ = 0;
  MemoryTrace memory_;
  double cpu_begin_s_ = 0;
};

OrderedJson row_of(const char* phase, const Measured& measured) {
  const LoadWindow& window = measured.window;
  const std::vector<double> parts = window.tokens_per_s_of_parts(kParts);
  OrderedJson row;
  row["phase"] = phase;
  row["seconds"] = window.seconds();
  row["offered_per_s"] = window.offered_per_s();
  row["done_per_s"] = window.done_per_s();
  row["tokens_per_s"] = window.tokens_per_s();
  row["tokens_per_s_min"] = *std::ranges::min_element(parts);
  row["tokens_per_s_max"] = *std::ranges::max_element(parts);
  row["refused_per_s"] = window.refused_per_s();
  add_percentiles(row, "first_text_ms", window.first_text_ms());
  add_percentiles(row, "total_ms", window.total_ms());
  row["load_cores"] = measured.cpu_s / window.seconds();
  return row;
}

void add_refusals(speed::Report& report, const LoadWindow& window) {
  for (const auto& [code, refusals] : window.refusals()) {
    OrderedJson row;
    row["error"] = code;
    row["count"] = refusals.ms.size();
    row["with_retry_after"] = refusals.with_retry_after;
    add_percentiles(row, "refusal_ms", refusals.ms);
    report.add(std::move(row));
  }
}

void add_memory_trace(speed::Report& report, const MemoryTrace& trace) {
  const auto add = [&](const char* name, const std::vector<double>& mb) {
    if (mb.empty()) return;
    OrderedJson row;
    row["memory"] = name;
    row["samples"] = mb.size();
    row["mb_min"] = *std::ranges::min_element(mb);
    row["mb_max"] = *std::ranges::max_element(mb);
    row["mb_last"] = mb.back();
    row["mb_per_minute"] = 60 * slope(trace.second, mb);
    report.add(std::move(row));
  };
  add("rss", trace.rss_mb);
  add("rss_anon", trace.anonymous_mb);
}

struct Phases {
  Measured before, overload, after;
  int64_t kv_bytes_begin = 0, kv_bytes_end = 0;  // in use before and after the overload
};

speed::Report report_of(OrderedJson header, const OverloadOptions& options, const Phases& phases,
                        const MemoryTrace& trace) {
  const LoadWindow& before = phases.before.window;
  const LoadWindow& overload = phases.overload.window;
  const double after_tokens_per_s = phases.after.window.tokens_per_s();
  const double mean_tokens_per_s = (before.tokens_per_s() + after_tokens_per_s) / 2;
  header["factor"] = options.factor;
  header["running"] = options.running;
  header["prompt_tokens"] = options.prompt_tokens;
  header["max_tokens"] = options.max_tokens;
  header["goodput_share_tokens"] = ratio(overload.tokens_per_s(), before.tokens_per_s());
  header["goodput_share_requests"] = ratio(overload.done_per_s(), before.done_per_s());
  header["goodput_share_of_mean_capacity"] = ratio(overload.tokens_per_s(), mean_tokens_per_s);
  header["unsent"] = overload.unsent_count();
  add_percentiles(header, "sent_late_ms", overload.late_ms());
  header["kv_mb_begin"] = static_cast<double>(phases.kv_bytes_begin) / 1e6;
  header["kv_mb_end"] = static_cast<double>(phases.kv_bytes_end) / 1e6;
  if (options.serve.json) header["rss_mb"] = trace.rss_mb;
  speed::Report report(std::move(header));
  report.add(row_of("capacity", phases.before));
  report.add(row_of("overload", phases.overload));
  report.add(row_of("capacity_after", phases.after));
  add_refusals(report, overload);
  add_memory_trace(report, trace);
  return report;
}

Result<Phases> measure(Loop& loop, const OverloadOptions& options, Service& service) {
  ASSIGN_OR_RETURN(Measured before, loop.closed(options.capacity_seconds));
  if (before.window.done() == 0) {
    return invalid_argument("--capacity-seconds", "no request was completed in this time");
  }
  ASSIGN_OR_RETURN(wire::StatusReply status, service.status());
  const int64_t kv_bytes_begin = status.kv_bytes_used;
  const double offered_per_s = options.factor * before.window.done_per_s();
  ASSIGN_OR_RETURN(Measured overload, loop.open(offered_per_s, options.seconds));
  ASSIGN_OR_RETURN(status, service.status());
  ASSIGN_OR_RETURN(Measured after, loop.closed(options.capacity_seconds));
  return Phases{std::move(before), std::move(overload), std::move(after), kv_bytes_begin,
                status.kv_bytes_used};
}

}  // namespace

Status overload(const OverloadOptions& options) {
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  // The number in front of a prompt takes a few more tokens.
  RETURN_IF_ERROR(stage->check_context(
      "--prompt-tokens", options.prompt_tokens + kTemplateTokens + 3 * options.max_tokens / 2));
  ASSIGN_OR_RETURN(const auto service,
                   stage->start_service({"--max-running", std::to_string(options.running)}));
  Loop loop(*stage, options, *service);
  RETURN_IF_ERROR(loop.prepare());
  ASSIGN_OR_RETURN(const Phases phases, measure(loop, options, *service));
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());
  return stage->print(report_of(stage->header("overload", status), options, phases, loop.memory()));
}

}  // namespace cascade::serve
