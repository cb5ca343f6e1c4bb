// gateway: the time that a request takes beyond the engine's own, through each door.
#include <algorithm>

#include "bench/serve/http_client.h"
#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"
#include "clients/cpp/client.h"

namespace cascade::serve {
namespace {

using client::Client;

// The time of each request in milliseconds, as the client sees it and as the daemon says it.
struct Times {
  std::vector<double> seen, engine, added;

  void add(int64_t seen_us, double engine_ms) {
    seen.push_back(static_cast<double>(seen_us) / 1e3);
    engine.push_back(engine_ms);
    added.push_back(seen.back() - engine_ms);
  }
};

Status ask_zeromq(Client& client, const std::string& prompt, int64_t tokens, Times& times) {
  wire::GenerateRequest request = raw_request(prompt, tokens);
  request.stream = false;
  const int64_t start_us = now_us();
  ASSIGN_OR_RETURN(const wire::Final final, client.generate(std::move(request)));
  times.add(now_us() - start_us, static_cast<double>(final.timings.total_us) / 1e3);
  return {};
}

Status ask_http(HttpClient& client, const std::string& prompt, int64_t tokens, Times& times) {
  const OrderedJson body = completion_body(prompt, tokens);
  const int64_t start_us = now_us();
  ASSIGN_OR_RETURN(const OrderedJson answer, client.post("/v1/completions", body));
  const int64_t seen_us = now_us() - start_us;
  const auto timings = answer.find("timings");
  if (timings == answer.end() || !timings->contains("total_ms")) {
    return Error{ErrorCode::kInternal, "", "an answer over HTTP has no timings"};
  }
  times.add(seen_us, timings->at("total_ms").get<double>());
  return {};
}

void add_door(speed::Report& report, const char* door, const Times& times, double target_ms) {
  OrderedJson row;
  row["door"] = door;
  add_percentiles(row, "seen_ms", times.seen);
  add_percentiles(row, "engine_ms", times.engine);
  add_percentiles(row, "added_ms", times.added);
  row["target_ms"] = target_ms;
  row["of_target"] = ratio(percentile(times.added, 0.5), target_ms);
  report.add(std::move(row));
}

}  // namespace

// Sends one request at a time, through one door after the other, so that both see the same machine.
Status gateway(const GatewayOptions& options) {
  constexpr double kZeroMqTargetMs = 0.3, kHttpTargetMs = 1;  // at the median
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  RETURN_IF_ERROR(stage->check_context("--prompt-tokens", options.prompt_tokens + options.tokens));
  ASSIGN_OR_RETURN(const auto service, stage->start_service_with_http());
  ASSIGN_OR_RETURN(Client zeromq, Client::connect(service->daemon->endpoint()));
  ASSIGN_OR_RETURN(const auto http, HttpClient::connect(service->http_port));
  ASSIGN_OR_RETURN(const std::string prompt, stage->texts().words(0, options.prompt_tokens));
  Times by_zeromq, by_http, unused;
  for (int64_t i = 0; i < options.warm_up; ++i) {
    RETURN_IF_ERROR(ask_zeromq(zeromq, prompt, options.tokens, unused));
    RETURN_IF_ERROR(ask_http(*http, prompt, options.tokens, unused));
  }
  for (int64_t i = 0; i < options.requests; ++i) {
    RETURN_IF_ERROR(check_interrupted());
    RETURN_IF_ERROR(ask_zeromq(zeromq, prompt, options.tokens, by_zeromq));
    RETURN_IF_ERROR(ask_http(*http, prompt, options.tokens, by_http));
  }
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());
  speed::Report report(stage->header("gateway", status));
  add_door(report, "zeromq", by_zeromq, kZeroMqTargetMs);
  add_door(report, "http", by_http, kHttpTargetMs);
  return stage->print(report);
}

}  // namespace cascade::serve
