// slow-clients: one client's requests, alone and beside a crowd of slow connections.
#include <algorithm>

#include "bench/serve/http_client.h"
#include "bench/serve/slow_crowd.h"
#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"
#include "clients/cpp/client.h"

namespace cascade::serve {
namespace {

using client::Client;

// The milliseconds that requests took, through each door.
struct Seen {
  std::vector<double> zeromq, http;
};

class Steady {
 public:
  Steady(Client zeromq, std::unique_ptr<HttpClient> http, std::string prompt, int64_t tokens)
      : zeromq_(std::move(zeromq)),
        http_(std::move(http)),
        prompt_(std::move(prompt)),
        body_(completion_body(prompt_, tokens)),
        tokens_(tokens) {}

  // Sends one request at a time, through one door after the other.
  Status ask(int64_t requests, Seen& seen) {
    for (int64_t i = 0; i < requests; ++i) {
      RETURN_IF_ERROR(check_interrupted());
      const int64_t start_us = now_us();
      RETURN_IF_ERROR(zeromq_.generate(raw_request(prompt_, tokens_)));
      const int64_t between_us = now_us();
      RETURN_IF_ERROR(http_->post("/v1/completions", body_));
      seen.zeromq.push_back(static_cast<double>(between_us - start_us) / 1e3);
      seen.http.push_back(static_cast<double>(now_us() - between_us) / 1e3);
    }
    return {};
  }

 private:
  Client zeromq_;
  std::unique_ptr<HttpClient> http_;
  const std::string prompt_;
  const OrderedJson body_;
  const int64_t tokens_;
};

void add_door(speed::Report& report, const char* door, const std::vector<double>& alone,
              const std::vector<double>& beside) {
  constexpr double kTarget = 1.2;  // for the 95th percentile
  const double rise = percentile(beside, 0.95) / percentile(alone, 0.95);
  OrderedJson row;
  row["door"] = door;
  add_percentiles(row, "alone_ms", alone);
  add_percentiles(row, "beside_ms", beside);
  row["p95_ratio"] = rise;
  row["target"] = kTarget;
  report.add(std::move(row));
}

}  // namespace

Status slow_clients(const SlowClientsOptions& options) {
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  RETURN_IF_ERROR(stage->check_context("--prompt-tokens", options.prompt_tokens + options.tokens));
  ASSIGN_OR_RETURN(const auto service, stage->start_service_with_http());
  ASSIGN_OR_RETURN(Client zeromq, Client::connect(service->daemon->endpoint()));
  ASSIGN_OR_RETURN(auto http, HttpClient::connect(service->http_port));
  ASSIGN_OR_RETURN(std::string prompt, stage->texts().words(0, options.prompt_tokens));
  Steady steady(std::move(zeromq), std::move(http), std::move(prompt), options.tokens);
  Seen alone, beside, unused;
  int64_t ended = 0;
  RETURN_IF_ERROR(steady.ask(options.warm_up, unused));
  // Requests alone and requests beside the crowd are measured in turn, so that both see the same
  // machine.
  for (int64_t round = 0; round < options.rounds; ++round) {
    RETURN_IF_ERROR(steady.ask(options.requests, alone));
    ASSIGN_OR_RETURN(const auto crowd,
                     SlowCrowd::gather(service->http_port, options.connections, options.pace_ms));
    RETURN_IF_ERROR(steady.ask(options.warm_up, unused));
    RETURN_IF_ERROR(steady.ask(options.requests, beside));
    ended += crowd->ended();
  }
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());
  OrderedJson header = stage->header("slow-clients", status);
  header["connections"] = options.connections;
  header["pace_ms"] = options.pace_ms;
  header["ended_by_daemon"] = ended;
  speed::Report report(std::move(header));
  add_door(report, "zeromq", alone.zeromq, beside.zeromq);
  add_door(report, "http", alone.http, beside.http);
  return stage->print(report);
}

}  // namespace cascade::serve
