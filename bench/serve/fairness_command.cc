// fairness: how much a light tenant notices of others that flood.
#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"
#include "bench/serve/timers.h"

namespace cascade::serve {
namespace {

constexpr const char* kLight = "light";
constexpr int64_t kRetryMs = 1000;  // after an error that does not say how long to wait
// The number of connections that all flooding tenants divide between them; each has at least one.
constexpr int64_t kFloodConnections = 4;
// The number of texts for the flood. They are made beforehand, since the load should take little of
// the daemon's cores. A number in front makes prompts differ from their first word on.
constexpr size_t kFloodTexts = 64;
// The flood is steady when this many of its requests have ended, or after this time.
constexpr int64_t kWarmupEnded = 32;
constexpr int64_t kWarmupUs = 30 * kSecondUs;
// The tag of the light tenant's requests; the tags of the flood's requests are their places.
constexpr uint64_t kLightTag = UINT64_MAX;

std::string flood_name(int64_t number) {
  return "flood" + std::to_string(number);
}

struct Sample {
  double first_text_ms = 0;  // from the first try
  double total_ms = 0;
  double queue_ms = 0;  // from the request's arrival in the daemon until it has a place
  int64_t refusals = 0;
};

class Tenants {
 public:
  Tenants(const Stage& stage, const FairnessOptions& options, Service& service)
      : stage_(stage),
        options_(options),
        traffic_(*service.traffic),
        random_(stage.texts().seed()) {}

  Status connect(DaemonProcess& daemon) {
    ASSIGN_OR_RETURN(light_, connect(daemon, kLight));
    const int64_t floods = options_.tenants - 1;
    const int64_t connections = std::max<int64_t>(1, kFloodConnections / floods);
    for (int64_t number = 0; number < floods; ++number) {
      std::vector<int> own;
      for (int64_t i = 0; i < connections; ++i) {
        ASSIGN_OR_RETURN(const int connection, connect(daemon, flood_name(number)));
        own.push_back(connection);
      }
      for (int64_t i = 0; i < options_.flood; ++i) {
        places_.push_back({own[static_cast<size_t>(i % connections)], {}});
      }
    }
    for (uint64_t i = 0; i < kFloodTexts; ++i) {
      ASSIGN_OR_RETURN(std::string text, stage_.texts().words(i, options_.flood_prompt_tokens));
      flood_texts_.push_back(std::move(text));
    }
    return {};
  }

  Result<std::vector<Sample>> sample() {
    std::vector<Sample> samples;
    for (int64_t i = 0; i < options_.samples; ++i) {
      const auto mean_us = static_cast<double>(options_.pause_ms) * 1e3;
      const auto pause_us = static_cast<int64_t>(-mean_us * std::log1p(-random_.unit()));
      RETURN_IF_ERROR(pass(now_us() + pause_us));
      ASSIGN_OR_RETURN(const Sample sample, ask());
      samples.push_back(sample);
    }
    return samples;
  }

  Status start_flood() {
    for (uint64_t place = 0; place < places_.size(); ++place) RETURN_IF_ERROR(send_new(place));
    const int64_t until = now_us() + kWarmupUs;
    while (flood_ended_ < kWarmupEnded && now_us() < until) {
      RETURN_IF_ERROR(pass(now_us() + kSecondUs / 10));
    }
    flood_begin_us_ = now_us();
    flood_ended_ = flood_refused_ = flood_tokens_ = 0;
    return {};
  }

  OrderedJson flood_row() const {
    const double seconds = static_cast<double>(now_us() - flood_begin_us_) / 1e6;
    OrderedJson row;
    row["flood_in_flight"] = places_.size();
    row["seconds"] = seconds;
    row["done_per_s"] = static_cast<double>(flood_ended_) / seconds;
    row["tokens_per_s"] = static_cast<double>(flood_tokens_) / seconds;
    row["refused_per_s"] = static_cast<double>(flood_refused_) / seconds;
    return row;
  }

 private:
  // Lets the flood continue until `until_us`.
  Status pass(int64_t until_us) {
    while (now_us() < until_us) {
      RETURN_IF_ERROR(step(until_us));
    }
    return {};
  }

  Status step(int64_t until_us) {
    for (const uint64_t place : retries_.take_due(now_us())) RETURN_IF_ERROR(send_again(place));
    ASSIGN_OR_RETURN(const auto ended, traffic_.pump(retries_.next_us(until_us)));
    for (const ExchangePtr& exchange : ended) {
      if (exchange->tag == kLightTag) continue;
      if (!exchange->error) {
        ++flood_ended_;
        flood_tokens_ += exchange->final->usage.completion_tokens;
        RETURN_IF_ERROR(send_new(exchange->tag));
        continue;
      }
      ++flood_refused_;
      if (!options_.patient) {
        RETURN_IF_ERROR(send_again(exchange->tag));
        continue;
      }
      const int64_t after_ms = exchange->error->retry_after_ms;
      const int64_t wait_ms = after_ms > 0 ? after_ms : kRetryMs;
      retries_.add(now_us() + wait_ms * 1000, exchange->tag);
    }
    return {};
  }

  Result<int> connect(DaemonProcess& daemon, const std::string& tenant) {
    const std::string name = options_.one_tenant ? "" : tenant;
    RETURN_IF_ERROR(daemon.wait_until_serving(name));
    return traffic_.connect(daemon.endpoint(name));
  }

  Status send_new(uint64_t place) {
    const uint64_t number = number_++;
    places_[place].prompt =
        std::to_string(number) + " " + flood_texts_[number % flood_texts_.size()];
    return send_again(place);
  }

  Status send_again(uint64_t place) {
    const auto& [connection, prompt] = places_[place];
    RETURN_IF_ERROR(
        traffic_.send(connection, raw_request(prompt, options_.flood_max_tokens), place));
    return {};
  }

  // Sends one request of the light tenant, again and again until it is accepted.
  Result<Sample> ask() {
    ASSIGN_OR_RETURN(const std::string text,
                     stage_.texts().words(number_++, options_.light_prompt_tokens));
    const int64_t begin = now_us();
    for (int64_t refusals = 0;; ++refusals) {
      ASSIGN_OR_RETURN(
          const ExchangePtr exchange,
          traffic_.send(light_, raw_request(text, options_.light_max_tokens), kLightTag));
      while (!exchange->ended()) RETURN_IF_ERROR(step(now_us() + kSecondUs));
      if (!exchange->error) {
        const double tries_ms = static_cast<double>(exchange->sent_us - begin) / 1e3;
        return Sample{tries_ms + exchange->first_text_ms(), tries_ms + exchange->total_ms(),
                      static_cast<double>(exchange->final->timings.queue_us) / 1e3, refusals};
      }
      if (exchange->error->retry_after_ms == 0) return exchange->error->error;
      RETURN_IF_ERROR(pass(now_us() + exchange->error->retry_after_ms * 1000));
    }
  }

  // One of the requests that the flood has in flight.
  struct Place {
    int connection;
    std::string prompt;
  };

  const Stage& stage_;
  const FairnessOptions& options_;
  Traffic& traffic_;
  Random random_;
  int light_ = 0;
  std::vector<Place> places_;
  std::vector<std::string> flood_texts_;
  uint64_t number_ = 0;  // of the next text
  Timers retries_;       // of the flood's places
  int64_t flood_begin_us_ = 0, flood_ended_ = 0, flood_refused_ = 0, flood_tokens_ = 0;
};

struct Phase {
  OrderedJson row;
  double first_text_p95_ms = 0;
};

Phase describe(const char* name, const std::vector<Sample>& samples) {
  std::vector<double> first_ms, total_ms, queue_ms;
  int64_t refusals = 0;
  for (const Sample& sample : samples) {
    first_ms.push_back(sample.first_text_ms);
    total_ms.push_back(sample.total_ms);
    queue_ms.push_back(sample.queue_ms);
    refusals += sample.refusals;
  }
  Phase phase;
  phase.row["light_tenant"] = name;
  phase.row["samples"] = samples.size();
  add_percentiles(phase.row, "first_text_ms", first_ms);
  add_percentiles(phase.row, "total_ms", total_ms);
  add_percentiles(phase.row, "queue_ms", queue_ms);
  phase.row["refusals"] = refusals;
  phase.first_text_p95_ms = percentile(first_ms, 0.95);
  return phase;
}

Status check(const FairnessOptions& options, const Stage& stage) {
  RETURN_IF_ERROR(stage.check_context("--prompt-tokens",
                                      options.light_prompt_tokens + options.light_max_tokens));
  // Each flood prompt begins with a number, which takes a few more tokens; kTemplateTokens has room
  // for it.
  return stage.check_context(
      "--flood-prompt-tokens",
      options.flood_prompt_tokens + kTemplateTokens + options.flood_max_tokens);
}

}  // namespace

Status fairness(const FairnessOptions& options) {
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  RETURN_IF_ERROR(check(options, *stage));
  std::vector<std::string> arguments;
  if (!options.one_tenant) {
    arguments = {"--tenant", kLight};
    for (int64_t number = 0; number + 1 < options.tenants; ++number) {
      arguments.insert(arguments.end(), {"--tenant", flood_name(number)});
    }
  }
  ASSIGN_OR_RETURN(const auto service, stage->start_service(arguments));
  Tenants tenants(*stage, options, *service);
  RETURN_IF_ERROR(tenants.connect(*service->daemon));
  ASSIGN_OR_RETURN(const auto alone_samples, tenants.sample());
  const Phase alone = describe("alone", alone_samples);
  RETURN_IF_ERROR(tenants.start_flood());
  const double cpu_begin_s = own_cpu_s();
  const int64_t begin_us = now_us();
  ASSIGN_OR_RETURN(const auto beside_samples, tenants.sample());
  const double seconds = static_cast<double>(now_us() - begin_us) / 1e6;
  const Phase beside = describe("beside", beside_samples);
  const OrderedJson flood_row = tenants.flood_row();
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());

  OrderedJson header = stage->header("fairness", status);
  header["tenants"] = options.one_tenant ? 1 : options.tenants;
  header["first_text_p95_ratio"] = ratio(beside.first_text_p95_ms, alone.first_text_p95_ms);
  header["load_cores"] = (own_cpu_s() - cpu_begin_s) / seconds;
  speed::Report report(std::move(header));
  report.add(alone.row);
  report.add(beside.row);
  report.add(flood_row);
  return stage->print(report);
}

}  // namespace cascade::serve
