// isolation: whether a tenant can tell by time that another has sent the same prompt.
#include <algorithm>
#include <random>

#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"
#include "clients/cpp/client.h"

namespace cascade::serve {
namespace {

using client::Client;

constexpr char kAlice[] = "alice", kBob[] = "bob";

// The milliseconds until the one token that is asked for, as the client sees them.
Result<double> ask(Client& client, const std::string& prompt) {
  wire::GenerateRequest request = raw_request(prompt, 1);
  request.stream = false;
  const int64_t start_us = now_us();
  ASSIGN_OR_RETURN(const wire::Final final, client.generate(std::move(request)));
  (void) final;
  return static_cast<double>(now_us() - start_us) / 1e3;
}

// The share of all pairs (a value of `first`, a value of `second`) in which the first is smaller;
// equal pairs count half. With 0.5 the values tell nothing of each other (Mann and Whitney's U,
// normalised).
double area_under_curve(const std::vector<double>& first, std::vector<double> second) {
  std::ranges::sort(second);
  double pairs = 0;
  for (const double value : first) {
    const auto [low, high] = std::equal_range(second.begin(), second.end(), value);
    pairs += static_cast<double>(second.end() - high) + static_cast<double>(high - low) / 2;
  }
  return pairs / (static_cast<double>(first.size()) * static_cast<double>(second.size()));
}

struct Probes {
  std::vector<double> known_ms, unknown_ms;  // Bob's prompts that Alice has sent before, or has not
  std::vector<double> again_ms;              // the same prompts, sent by Bob once more
};

// Before Bob sends his prompt, Alice sends the same one or another of the same length, so that all
// else is equal.
Status probe(Client& alice, Client& bob, const Texts& texts, const IsolationOptions& options,
             Probes& probes) {
  std::vector<bool> known(static_cast<size_t>(options.probes));
  for (size_t i = 0; i < known.size(); i += 2) known[i] = true;
  std::shuffle(known.begin(), known.end(), std::mt19937_64(texts.seed()));
  uint64_t number = 0;
  for (const bool is_known : known) {
    RETURN_IF_ERROR(check_interrupted());
    ASSIGN_OR_RETURN(const std::string prompt, texts.words(number++, options.prompt_tokens));
    ASSIGN_OR_RETURN(const std::string other, texts.words(number++, options.prompt_tokens));
    ASSIGN_OR_RETURN(const double before_ms, ask(alice, is_known ? prompt : other));
    (void)before_ms;
    ASSIGN_OR_RETURN(const double seen_ms, ask(bob, prompt));
    (is_known ? probes.known_ms : probes.unknown_ms).push_back(seen_ms);
    ASSIGN_OR_RETURN(const double again_ms, ask(bob, prompt));
    probes.again_ms.push_back(again_ms);
  }
  return {};
}

}  // namespace

Status isolation(const IsolationOptions& options) {
  constexpr double kFarthest = 0.05;  // the largest distance of the area from 0.5
  constexpr double kReuseTarget = 5;  // how many times faster one's own repeated prompts should be
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  RETURN_IF_ERROR(stage->check_context("--prompt-tokens", options.prompt_tokens + 1));
  ASSIGN_OR_RETURN(const auto service,
                   stage->start_service({"--tenant", kAlice, "--tenant", kBob}));
  for (const char* tenant : {kAlice, kBob}) {
    RETURN_IF_ERROR(service->daemon->wait_until_serving(tenant));
  }
  ASSIGN_OR_RETURN(Client alice, Client::connect(service->daemon->endpoint(kAlice)));
  ASSIGN_OR_RETURN(Client bob, Client::connect(service->daemon->endpoint(kBob)));
  Probes probes;
  RETURN_IF_ERROR(probe(alice, bob, stage->texts(), options, probes));
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());
  speed::Report report(stage->header("isolation", status));
  OrderedJson row;
  row["probes"] = options.probes;
  row["prompt_tokens"] = options.prompt_tokens;
  add_percentiles(row, "known_to_another_ms", probes.known_ms);
  add_percentiles(row, "known_to_nobody_ms", probes.unknown_ms);
  const double area = area_under_curve(probes.known_ms, probes.unknown_ms);
  row["area_under_curve"] = area;
  row["area_may_be_off_by"] = kFarthest;
  add_percentiles(row, "own_again_ms", probes.again_ms);
  row["own_times_as_fast"] =
      ratio(percentile(probes.unknown_ms, 0.5), percentile(probes.again_ms, 0.5));
  row["own_target"] = kReuseTarget;
  report.add(std::move(row));
  return stage->print(report);
}

}  // namespace cascade::serve
