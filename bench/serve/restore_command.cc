// restore: a long prompt after kill -9, the speed of reading its pages, the cost of writing them.
#include <algorithm>
#include <cstring>

#include "bench/serve/kv_read_speed.h"
#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"

namespace cascade::serve {
namespace {

constexpr int64_t kAnswerTokens = 8;
constexpr int64_t kWriteSecondsMax = 120;

// The same prompts, before and after the daemon was killed.
struct Restart {
  std::vector<double> cold_ms, restored_ms;  // to the first token
  std::vector<int64_t> prompt_tokens, loaded_tokens;
  bool identical = true;
  double start_s = 0;  // until the daemon serves
};

bool same(const wire::Final& a, const wire::Final& b) {
  return a.token_ids == b.token_ids && a.logprobs.size() == b.logprobs.size() &&
         std::memcmp(a.logprobs.data(), b.logprobs.data(), a.logprobs.size() * sizeof(float)) == 0;
}

wire::GenerateRequest long_request(std::string text) {
  wire::GenerateRequest request = raw_request(std::move(text), kAnswerTokens);
  request.logprobs = true;
  request.retain_output = true;  // so that short prompts are written as well
  return request;
}

// Returns when every computed page is on the disk.
Status wait_until_written(Service& service, int64_t pages) {
  const int64_t until = now_us() + kWriteSecondsMax * kSecondUs;
  while (now_us() < until) {
    ASSIGN_OR_RETURN(const wire::StatsReply stats, service.traffic->stats(service.control));
    if (stats.disk && stats.disk->pages >= pages) return {};
    RETURN_IF_ERROR(service.traffic->pump(now_us() + kSecondUs / 20));
  }
  return Error{ErrorCode::kDeadlineExceeded, "",
               "the pages were not written within " + std::to_string(kWriteSecondsMax) + " s"};
}

Result<Restart> measure_restart(Stage& stage, const RestoreOptions& options, int64_t tokens,
                                std::unique_ptr<Service>& service) {
  Restart result;
  std::vector<ExchangePtr> before;
  int64_t pages = 0;
  for (int64_t i = 0; i < options.repeats; ++i) {
    ASSIGN_OR_RETURN(std::string text, stage.texts().words(static_cast<uint64_t>(i), tokens));
    ASSIGN_OR_RETURN(const ExchangePtr cold,
                     service->traffic->run(service->control, long_request(std::move(text))));
    result.cold_ms.push_back(cold->first_text_ms());
    result.prompt_tokens.push_back(cold->final->usage.prompt_tokens);
    pages += cold->final->usage.prompt_tokens / kPageTokens;
    before.push_back(cold);
  }
  RETURN_IF_ERROR(wait_until_written(*service, pages));
  service->daemon->kill();
  const int64_t start_us = now_us();
  ASSIGN_OR_RETURN(service, stage.start_again(*service));
  result.start_s = static_cast<double>(now_us() - start_us) / 1e6;
  for (int64_t i = 0; i < options.repeats; ++i) {
    ASSIGN_OR_RETURN(std::string text, stage.texts().words(static_cast<uint64_t>(i), tokens));
    ASSIGN_OR_RETURN(const ExchangePtr again,
                     service->traffic->run(service->control, long_request(std::move(text))));
    result.restored_ms.push_back(again->first_text_ms());
    result.loaded_tokens.push_back(again->final->usage.loaded_tokens);
    result.identical =
        result.identical && same(*before[static_cast<size_t>(i)]->final, *again->final);
  }
  return result;
}

// The tokens per second of decodes whose answers are retained, and also written if the daemon's
// disk has room for them.
Result<double> decode_rate(const Stage& stage, const RestoreOptions& options, Service& service,
                           uint64_t& number) {
  Traffic& traffic = *service.traffic;
  const auto begin_one = [&]() -> Status {
    ASSIGN_OR_RETURN(std::string text, stage.texts().words(number++, kDecodePromptTokens));
    wire::GenerateRequest request = raw_request(std::move(text), options.decode_tokens);
    request.retain_output = true;
    const auto sent = traffic.send(service.control, std::move(request));
    return sent.ok() ? Status() : Status(sent.error());
  };
  for (int64_t i = 0; i < options.decodes; ++i) RETURN_IF_ERROR(begin_one());
  ASSIGN_OR_RETURN(const wire::StatusReply first, service.status());
  const int64_t begin = now_us();
  const int64_t until = begin + static_cast<int64_t>(options.seconds * 1e6);
  while (now_us() < until) {
    ASSIGN_OR_RETURN(const auto ended, traffic.pump(until));
    for (const ExchangePtr& exchange : ended) {
      if (exchange->error) return exchange->error->error;
      RETURN_IF_ERROR(begin_one());
    }
  }
  ASSIGN_OR_RETURN(const wire::StatusReply last, service.status());
  const double seconds = static_cast<double>(now_us() - begin) / 1e6;
  while (traffic.in_flight() > 0) RETURN_IF_ERROR(traffic.pump(now_us() + kSecondUs));
  return static_cast<double>(last.tokens_generated - first.tokens_generated) / seconds;
}

struct WriteCost {
  std::vector<double> without, with, ratios;  // tokens per second; with / without for each round
  int64_t pages_written = 0;
};

// Uses two daemons; only one works at a time.
Result<WriteCost> measure_writes(Stage& stage, const RestoreOptions& options) {
  WriteCost cost;
  if (options.rounds == 0) return cost;
  ASSIGN_OR_RETURN(const auto with, stage.start_service());
  ASSIGN_OR_RETURN(const auto without, stage.start_service({"--max-disk", "1"}));
  uint64_t number = 1'000'000;  // texts that differ from those of the restart
  for (int64_t i = 0; i < options.rounds; ++i) {
    ASSIGN_OR_RETURN(const double plain, decode_rate(stage, options, *without, number));
    ASSIGN_OR_RETURN(const double written, decode_rate(stage, options, *with, number));
    cost.without.push_back(plain);
    cost.with.push_back(written);
    cost.ratios.push_back(written / plain);
  }
  ASSIGN_OR_RETURN(const wire::StatsReply stats, with->traffic->stats(with->control));
  if (stats.disk) cost.pages_written = stats.disk->pages_written;
  return cost;
}

void add_restart(speed::Report& report, const Restart& restart) {
  for (size_t i = 0; i < restart.cold_ms.size(); ++i) {
    OrderedJson row;
    row["prompt_tokens"] = restart.prompt_tokens[i];
    row["cold_first_token_ms"] = restart.cold_ms[i];
    row["restored_first_token_ms"] = restart.restored_ms[i];
    row["share"] = ratio(restart.restored_ms[i], restart.cold_ms[i]);
    row["loaded_tokens"] = restart.loaded_tokens[i];
    report.add(std::move(row));
  }
}

void add_read(speed::Report& report, const KvReadSpeed& speed) {
  const auto add = [&](const char* what, double bytes, const speed::Samples& samples) {
    OrderedJson row;
    row["read"] = what;
    row["bytes"] = bytes;
    speed::add_rate(row, "gb_per_s", bytes, 1e9, samples);
    report.add(std::move(row));
  };
  add("files_cold", speed.file_bytes, speed.files_cold);
  add("pages_cold", speed.bytes, speed.cold);
  add("pages_warm", speed.bytes, speed.warm);
  add("memory_copy", speed.copy_bytes, speed.copy);
}

void add_header(OrderedJson& header, const Restart& restart, const KvReadSpeed& read,
                const WriteCost& writes) {
  const auto rate = [](double bytes, const speed::Samples& samples) {
    return bytes / samples.median();
  };
  header["identical"] = restart.identical;
  header["start_s"] = restart.start_s;
  header["first_token_share"] =
      ratio(percentile(restart.restored_ms, 0.5), percentile(restart.cold_ms, 0.5));
  header["cold_read_share"] =
      ratio(rate(read.bytes, read.cold), rate(read.file_bytes, read.files_cold));
  header["warm_read_share"] = ratio(rate(read.bytes, read.warm), rate(read.copy_bytes, read.copy));
  if (writes.ratios.empty()) return;
  header["decode_tokens_per_s_without_writes"] = percentile(writes.without, 0.5);
  header["decode_tokens_per_s_with_writes"] = percentile(writes.with, 0.5);
  header["decode_share"] = percentile(writes.ratios, 0.5);
  header["pages_written"] = writes.pages_written;
}

}  // namespace

Status restore(const RestoreOptions& options) {
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  const int64_t room = stage->context_tokens() - kRoomTokens;
  const int64_t tokens =
      options.prompt_tokens > 0 ? options.prompt_tokens : std::min(kPromptTokensDefault, room);
  RETURN_IF_ERROR(stage->check_context("--prompt-tokens", tokens + kRoomTokens));
  ASSIGN_OR_RETURN(std::unique_ptr<Service> service, stage->start_service());
  ASSIGN_OR_RETURN(const Restart restart, measure_restart(*stage, options, tokens, service));
  ASSIGN_OR_RETURN(const wire::StatusReply status, service->status());
  const std::string state_dir = (service->folder / "state").string();
  service.reset();
  ASSIGN_OR_RETURN(const KvReadSpeed read, measure_kv_read(state_dir, options.repeats));
  ASSIGN_OR_RETURN(const WriteCost writes, measure_writes(*stage, options));
  OrderedJson header = stage->header("restore", status);
  add_header(header, restart, read, writes);
  speed::Report report(std::move(header));
  add_restart(report, restart);
  add_read(report, read);
  RETURN_IF_ERROR(stage->print(report));
  if (restart.identical) return {};
  return Error{ErrorCode::kInternal, "", "an answer differs after the restart"};
}

}  // namespace cascade::serve
