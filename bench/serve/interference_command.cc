// interference: running decodes while a long prompt is prefilled, and what remains of a prefill
// after a cancel.
#include <algorithm>

#include "base/random.h"
#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"

namespace cascade::serve {
namespace {

// A prefill is cancelled at a random moment after its middle, within this share of its time. The
// share covers several slices, so that the moment does not depend on what is being computed.
constexpr double kCancelShare = 0.1;

// A stretch of time, with the daemon's counter of tokens at both ends.
struct Window {
  int64_t begin_us = 0, end_us = 0;
  int64_t tokens_begin = 0, tokens_end = 0;

  double seconds() const { return static_cast<double>(end_us - begin_us) / 1e6; }
};

// Decodes that run all the time: when one ends, another follows.
class Decodes {
 public:
  Decodes(const Stage& stage, const InterferenceOptions& options, Service& service)
      : stage_(stage), options_(options), service_(service), traffic_(*service.traffic) {}

  Status start() {
    for (int64_t i = 0; i < options_.decodes; ++i) {
      ASSIGN_OR_RETURN(const int connection, traffic_.connect(service_.daemon->endpoint()));
      running_.emplace_back();
      RETURN_IF_ERROR(begin(i, connection));
    }
    while (std::ranges::any_of(running_, [](const auto& one) { return one->delta_us.empty(); })) {
      RETURN_IF_ERROR(step(now_us() + kSecondUs));
    }
    return {};
  }

  Status step(int64_t until_us) {
    ASSIGN_OR_RETURN(const auto ended, traffic_.pump(until_us));
    for (const ExchangePtr& exchange : ended) {
      if (exchange->tag >= running_.size() || exchange != running_[exchange->tag]) continue;
      if (exchange->error) return exchange->error->error;
      past_.push_back(exchange);
      RETURN_IF_ERROR(begin(exchange->tag, exchange->connection));
    }
    return {};
  }

  Result<Window> open_window() {
    Window window;
    ASSIGN_OR_RETURN(const wire::StatusReply status, service_.status());
    window.tokens_begin = status.tokens_generated;
    window.begin_us = now_us();
    return window;
  }

  Status close(Window& window) {
    window.end_us = now_us();
    ASSIGN_OR_RETURN(const wire::StatusReply status, service_.status());
    window.tokens_end = status.tokens_generated;
    return {};
  }

  // The milliseconds between two Deltas, for all pairs that overlap with the window.
  std::vector<double> gaps_ms(const Window& window) const {
    std::vector<double> gaps;
    for (const auto* list : {&past_, &running_}) {
      for (const ExchangePtr& exchange : *list) {
        const std::vector<int64_t>& at = exchange->delta_us;
        for (size_t i = 1; i < at.size(); ++i) {
          if (at[i] <= window.begin_us || at[i - 1] >= window.end_us) continue;
          gaps.push_back(static_cast<double>(at[i] - at[i - 1]) / 1e3);
        }
      }
    }
    return gaps;
  }

 private:
  Status begin(uint64_t i, int connection) {
    ASSIGN_OR_RETURN(std::string text, stage_.texts().words(number_++, kDecodePromptTokens));
    ASSIGN_OR_RETURN(
        running_[i],
        traffic_.send(connection, raw_request(std::move(text), options_.decode_tokens), i));
    return {};
  }

  const Stage& stage_;
  const InterferenceOptions& options_;
  Service& service_;
  Traffic& traffic_;
  uint64_t number_ = 0;
  std::vector<ExchangePtr> running_;
  std::vector<ExchangePtr> past_;
};

struct Cancelled {
  int64_t done_tokens = 0;           // tokens of the prompt that were reused or prefilled
  double final_ms = 0, slot_ms = 0;  // time since the cancel
  int64_t reused_tokens = 0;         // by a repetition of the request
};

class Prefills {
 public:
  Prefills(const Stage& stage, int64_t tokens, Service& service)
      : stage_(stage),
        tokens_(tokens),
        service_(service),
        traffic_(*service.traffic),
        random_(stage.texts().seed()) {}

  Status connect() {
    ASSIGN_OR_RETURN(connection_, traffic_.connect(service_.daemon->endpoint()));
    return {};
  }

  // The seconds of each prefill, from sending the request to its one token.
  Result<std::vector<double>> alone(int64_t repeats) {
    std::vector<double> seconds;
    for (int64_t i = 0; i < repeats; ++i) {
      ASSIGN_OR_RETURN(const std::string text, next_text());
      ASSIGN_OR_RETURN(const ExchangePtr exchange, traffic_.run(connection_, raw_request(text, 1)));
      prompt_tokens_ = exchange->final->usage.prompt_tokens;
      seconds.push_back(exchange->total_ms() / 1e3);
    }
    return seconds;
  }

  // Runs one prefill beside the decodes.
  Result<ExchangePtr> beside(Decodes& decodes, const std::string& text) {
    ASSIGN_OR_RETURN(const ExchangePtr exchange,
                     traffic_.send(connection_, raw_request(text, 1), UINT64_MAX));
    while (!exchange->ended()) RETURN_IF_ERROR(decodes.step(now_us() + kSecondUs));
    if (exchange->error) return exchange->error->error;
    return exchange;
  }

  // Runs one prefill and cancels it up to `within_us` after its middle.
  Result<Cancelled> cancel_midway(Decodes& decodes, int32_t running, uint64_t within_us) {
    ASSIGN_OR_RETURN(const std::string text, next_text());
    ASSIGN_OR_RETURN(const ExchangePtr exchange,
                     traffic_.send(connection_, raw_request(text, 1), UINT64_MAX));
    while (exchange->prompt_tokens_done < tokens_ / 2 && !exchange->ended()) {
      RETURN_IF_ERROR(decodes.step(now_us() + kLookUs));
    }
    const int64_t cancel_us = now_us() + static_cast<int64_t>(random_.below(within_us));
    while (now_us() < cancel_us) RETURN_IF_ERROR(decodes.step(cancel_us));
    const int64_t begin = now_us();
    // kNotFound: there was nothing to cancel, because the request has just ended; its Final says
    // so.
    const Status cancelled = traffic_.cancel(*exchange);
    if (!cancelled.ok() && cancelled.error().code != ErrorCode::kNotFound) return cancelled.error();
    Cancelled result;
    for (bool taken = true; taken;) {
      ASSIGN_OR_RETURN(const wire::StatusReply status, service_.status());
      taken = status.requests_running > running;
      result.slot_ms = static_cast<double>(now_us() - begin) / 1e3;
    }
    while (!exchange->ended()) RETURN_IF_ERROR(decodes.step(now_us() + kSecondUs));
    if (exchange->error) return exchange->error->error;
    result.final_ms = static_cast<double>(exchange->ended_us - begin) / 1e3;
    const wire::Usage& usage = exchange->final->usage;
    result.done_tokens = usage.reused_tokens + usage.prefilled_tokens;
    ASSIGN_OR_RETURN(const ExchangePtr again, beside(decodes, text));
    result.reused_tokens = again->final->usage.reused_tokens;
    return result;
  }

  Result<std::string> next_text() {
    // The numbers of these texts differ from those of the decodes' texts.
    constexpr uint64_t kFirst = 1'000'000;
    return stage_.texts().words(kFirst + number_++, tokens_);
  }
  int64_t prompt_tokens() const { return prompt_tokens_; }

 private:
  const Stage& stage_;
  const int64_t tokens_;
  Service& service_;
  Traffic& traffic_;
  Random random_;
  int connection_ = 0;
  uint64_t number_ = 0;
  int64_t prompt_tokens_ = 0;
};

// The results for the report.
struct Outcome {
  std::vector<double> alone_s, beside_s;
  std::vector<double> calm_gaps_ms, disturbed_gaps_ms;
  Window calm;
  std::vector<Window> disturbed;
  std::vector<Cancelled> cancelled;
  int64_t prompt_tokens = 0;
};

Result<Outcome> measure(const Stage& stage, const InterferenceOptions& options, int64_t tokens,
                        Service& service) {
  Outcome outcome;
  Prefills prefills(stage, tokens, service);
  RETURN_IF_ERROR(prefills.connect());
  ASSIGN_OR_RETURN(outcome.alone_s, prefills.alone(options.repeats));
  outcome.prompt_tokens = prefills.prompt_tokens();

  Decodes decodes(stage, options, service);
  RETURN_IF_ERROR(decodes.start());
  ASSIGN_OR_RETURN(outcome.calm, decodes.open_window());
  const int64_t until = now_us() + static_cast<int64_t>(options.seconds * 1e6);
  while (now_us() < until) RETURN_IF_ERROR(decodes.step(until));
  RETURN_IF_ERROR(decodes.close(outcome.calm));
  outcome.calm_gaps_ms = decodes.gaps_ms(outcome.calm);

  for (int64_t i = 0; i < options.repeats; ++i) {
    ASSIGN_OR_RETURN(const std::string text, prefills.next_text());
    ASSIGN_OR_RETURN(Window window, decodes.open_window());
    ASSIGN_OR_RETURN(const ExchangePtr exchange, prefills.beside(decodes, text));
    RETURN_IF_ERROR(decodes.close(window));
    window.end_us = exchange->ended_us;
    outcome.disturbed.push_back(window);
    outcome.beside_s.push_back(exchange->total_ms() / 1e3);
    const std::vector<double> gaps = decodes.gaps_ms(window);
    outcome.disturbed_gaps_ms.insert(outcome.disturbed_gaps_ms.end(), gaps.begin(), gaps.end());
  }
  const double within_s = kCancelShare * percentile(outcome.beside_s, 0.5);
  for (int64_t i = 0; i < options.repeats; ++i) {
    const auto running = static_cast<int32_t>(options.decodes);
    const auto within_us = static_cast<uint64_t>(within_s * 1e6) + 1;
    ASSIGN_OR_RETURN(const Cancelled cancelled,
                     prefills.cancel_midway(decodes, running, within_us));
    outcome.cancelled.push_back(cancelled);
  }
  return outcome;
}

OrderedJson decode_row(const char* phase, int64_t decodes, const std::vector<Window>& windows,
                       const std::vector<double>& gaps_ms) {
  double seconds = 0;
  int64_t tokens = 0;
  for (const Window& window : windows) {
    seconds += window.seconds();
    tokens += window.tokens_end - window.tokens_begin;
  }
  OrderedJson row;
  row["decodes"] = phase;
  row["seconds"] = seconds;
  row["tokens_per_s"] = static_cast<double>(tokens) / seconds;
  row["ms_per_token"] = ratio(1e3 * seconds * static_cast<double>(decodes),
                              static_cast<double>(tokens));  // for one decode
  row["gaps"] = gaps_ms.size();
  row["tokens_per_gap"] = ratio(static_cast<double>(tokens), static_cast<double>(gaps_ms.size()));
  add_percentiles(row, "gap_ms", gaps_ms);
  return row;
}

OrderedJson prefill_row(const char* phase, const std::vector<double>& seconds) {
  OrderedJson row;
  row["prefill"] = phase;
  row["repeats"] = seconds.size();
  row["seconds"] = percentile(seconds, 0.5);
  row["seconds_min"] = percentile(seconds, 0);
  row["seconds_max"] = percentile(seconds, 1);
  return row;
}

speed::Report report_of(OrderedJson header, const InterferenceOptions& options,
                        const Outcome& outcome) {
  const auto ratio_of = [](const std::vector<double>& a, const std::vector<double>& b,
                           double share) {
    if (a.empty() || b.empty()) return OrderedJson();
    return ratio(percentile(a, share), percentile(b, share));
  };
  header["prompt_tokens"] = outcome.prompt_tokens;
  header["running_decodes"] = options.decodes;
  header["gap_p50_ratio"] = ratio_of(outcome.disturbed_gaps_ms, outcome.calm_gaps_ms, 0.5);
  header["gap_p95_ratio"] = ratio_of(outcome.disturbed_gaps_ms, outcome.calm_gaps_ms, 0.95);
  header["prefill_ratio"] = ratio_of(outcome.beside_s, outcome.alone_s, 0.5);
  speed::Report report(std::move(header));
  report.add(decode_row("undisturbed", options.decodes, {outcome.calm}, outcome.calm_gaps_ms));
  report.add(
      decode_row("beside_prefill", options.decodes, outcome.disturbed, outcome.disturbed_gaps_ms));
  report.add(prefill_row("alone", outcome.alone_s));
  report.add(prefill_row("beside_decodes", outcome.beside_s));
  for (const Cancelled& cancelled : outcome.cancelled) {
    OrderedJson row;
    row["cancelled_after_tokens"] = cancelled.done_tokens;
    row["to_final_ms"] = cancelled.final_ms;
    row["to_free_slot_ms"] = cancelled.slot_ms;
    row["repetition_reused"] = cancelled.reused_tokens;
    report.add(std::move(row));
  }
  return report;
}

}  // namespace

Status interference(const InterferenceOptions& options) {
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  const int64_t room = stage->context_tokens() - kRoomTokens;
  const int64_t tokens =
      options.prompt_tokens > 0 ? options.prompt_tokens : std::min(kPromptTokensDefault, room);
  RETURN_IF_ERROR(stage->check_context("--prompt-tokens", tokens + kRoomTokens));
  RETURN_IF_ERROR(
      stage->check_context("--decode-tokens", kDecodePromptTokens + options.decode_tokens));
  ASSIGN_OR_RETURN(const auto service, stage->start_service());
  ASSIGN_OR_RETURN(const Outcome outcome, measure(*stage, options, tokens, *service));
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());
  return stage->print(report_of(stage->header("interference", status), options, outcome));
}

}  // namespace cascade::serve
