// The names follow docs/HTTP.md. Times are in seconds, measured by the scheduler on its monotonic
// clock.
#include "actors/http/http_metrics.h"

#include "base/result.h"

namespace cascade {
namespace {

using http::Labels;
using http::MetricsText;

double seconds(int64_t us) {
  return static_cast<double>(us) / 1e6;
}

std::vector<double> request_bounds() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
          2.5,   5,      10,    20,   40,    80,   160, 320,  640};
}

std::vector<double> token_bounds() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.4, 0.8, 2};
}

void add_status(MetricsText& out, const wire::StatusReply& status) {
  out.family("cascaded_build_info", "gauge", "1; the version");
  out.sample("cascaded_build_info", {{"version", status.version}, {"isa", status.isa}}, 1);
  out.family("cascaded_model_info", "gauge", "1; the model");
  out.sample("cascaded_model_info",
             {{"model", status.model},
              {"model_type", status.model_type},
              {"weight_type", status.weight_type},
              {"kv_type", status.kv_type}},
             1);
  out.gauge("cascaded_uptime_seconds", "Since the daemon's start", seconds(status.uptime_us));
  out.gauge("cascaded_requests_running", "Running generations", status.requests_running);
  out.gauge("cascaded_requests_waiting", "Waiting generations", status.requests_waiting);
  out.gauge("cascaded_tokens_waiting", "Prompt tokens of waiting generations",
            static_cast<double>(status.tokens_waiting));
  const auto used = static_cast<double>(status.kv_bytes_used);
  const auto most = static_cast<double>(status.kv_bytes_max);
  out.gauge("cascaded_kv_usage_ratio", "Share of the KV memory in use", most > 0 ? used / most : 0);
  out.family("cascaded_kv_bytes", "gauge", "KV pages in use");
  out.sample("cascaded_kv_bytes", {{"tier", "ram"}}, used);
  const auto reused = static_cast<double>(status.tokens_reused);
  const auto prefilled = static_cast<double>(status.tokens_prefilled);
  out.counter("cascaded_kv_lookup_tokens_total", "Prompt tokens looked up in the cache",
              reused + prefilled);
  out.counter("cascaded_kv_hit_tokens_total", "Prompt tokens found in the cache", reused);
  out.counter("cascaded_prefill_tokens_total", "Prompt tokens computed", prefilled);
  out.counter("cascaded_reprefill_tokens_total", "Answer tokens computed again in idle time",
              static_cast<double>(status.tokens_reprefilled));
  out.counter("cascaded_decode_tokens_total", "Tokens sampled, through all doors",
              static_cast<double>(status.tokens_generated));
  out.counter("cascaded_selected_tokens_total",
              "Computed tokens that selected pages (attention = select)",
              static_cast<double>(status.tokens_selected));
  out.counter("cascaded_approximate_tokens_total",
              "Prompt tokens found whose K and V are approximations (think_policy splice, mask)",
              static_cast<double>(status.tokens_approximate));
  out.counter("cascaded_moved_tokens_total",
              "Answer tokens whose K and V were moved to where they stand without thoughts",
              static_cast<double>(status.tokens_moved));
  out.counter("cascaded_drafted_tokens_total",
              "Tokens guessed with selected pages, then checked (attention = verify)",
              static_cast<double>(status.tokens_drafted));
  out.counter("cascaded_accepted_tokens_total",
              "Drafted tokens that the check agreed with (attention = verify)",
              static_cast<double>(status.tokens_accepted));
  out.counter("cascaded_preemptions_total", "Requests that were preempted for a while",
              static_cast<double>(status.requests_preempted));
  out.counter("cascaded_pages_evicted_total", "KV pages that were evicted to make room",
              static_cast<double>(status.pages_evicted));
  out.counter("cascaded_actor_restarts_total", "Parts of the daemon that failed and were restarted",
              static_cast<double>(status.actors_restarted.size()));
  out.gauge("cascaded_warnings", "Current warnings: see cascadectl status",
            static_cast<double>(status.warnings.size()));
}

void add_stats(MetricsText& out, const wire::StatsReply& stats) {
  if (stats.cache) {
    const wire::CacheStats& cache = *stats.cache;
    out.gauge("cascaded_kv_pages_pinned", "KV pages that pins keep",
              static_cast<double>(cache.pages_pinned));
    out.counter("cascaded_kv_page_hits_total", "KV pages that requests found",
                static_cast<double>(cache.page_hits));
    out.counter("cascaded_kv_page_misses_total", "KV pages that were computed",
                static_cast<double>(cache.page_misses));
    out.gauge("cascaded_kv_working_set_bytes", "KV pages used within 10 minutes",
              static_cast<double>(cache.working_set_bytes));
    out.gauge("cascaded_kv_thrashing", "1 while the cache thrashes", cache.thrashing ? 1 : 0);
  }
  if (stats.disk) {
    const wire::DiskStats& disk = *stats.disk;
    out.gauge("cascaded_kv_disk_pages", "KV pages on disk", static_cast<double>(disk.pages));
    out.counter("cascaded_kv_disk_pages_written_total", "KV pages written to disk",
                static_cast<double>(disk.pages_written));
    out.counter("cascaded_kv_disk_pages_loaded_total", "KV pages read from disk",
                static_cast<double>(disk.pages_loaded));
    out.counter("cascaded_checksum_failures_total", "KV pages on disk that were damaged",
                static_cast<double>(disk.pages_bad));
  }
  if (stats.states) {
    const wire::StateStats& states = *stats.states;
    out.gauge("cascaded_states", "States of recurrent layers in memory, also of running requests",
              static_cast<double>(states.states_used));
    out.gauge("cascaded_states_max", "States that memory has room for",
              static_cast<double>(states.states_max));
    out.gauge("cascaded_state_bytes", "Bytes of one state",
              static_cast<double>(states.state_bytes));
    out.gauge("cascaded_states_kept", "States in memory that prompts can go on from",
              static_cast<double>(states.states_kept));
    out.counter("cascaded_states_dropped_total", "Kept states that left memory to make room",
                static_cast<double>(states.states_dropped));
    out.gauge("cascaded_disk_states", "States on disk", static_cast<double>(states.on_disk));
    out.counter("cascaded_disk_states_written_total", "States written to disk",
                static_cast<double>(states.written));
    out.counter("cascaded_disk_states_loaded_total", "States read from disk",
                static_cast<double>(states.loaded));
  }
}

}  // namespace

HttpMetrics::HttpMetrics()
    : first_token_(request_bounds()),
      inter_token_(token_bounds()),
      queue_(request_bounds()),
      prefill_(request_bounds()),
      decode_(request_bounds()),
      total_(request_bounds()) {}

void HttpMetrics::count_generation(const wire::Final& final) {
  ++generations_[{"ok", final.finish_reason}];
  prompt_tokens_ += static_cast<uint64_t>(final.usage.prompt_tokens);
  generated_tokens_ += static_cast<uint64_t>(final.usage.completion_tokens);
  const wire::Timings& times = final.timings;
  queue_.add(seconds(times.queue_us));
  prefill_.add(seconds(times.prefill_us));
  first_token_.add(seconds(times.first_token_us));
  decode_.add(seconds(times.decode_us));
  total_.add(seconds(times.total_us));
  const int64_t gaps = final.usage.completion_tokens - 1;
  if (gaps > 0) {
    inter_token_.add(seconds(times.decode_us) / static_cast<double>(gaps),
                     static_cast<uint64_t>(gaps));
  }
}

std::string HttpMetrics::text(const std::optional<wire::StatusReply>& status,
                              const std::optional<wire::StatsReply>& stats,
                              size_t connections) const {
  MetricsText out;
  if (status) add_status(out, *status);
  if (stats) add_stats(out, *stats);
  out.gauge("cascaded_http_connections", "Open HTTP connections", static_cast<double>(connections));
  out.family("cascaded_http_replies_total", "counter", "HTTP replies by status");
  for (const auto& [code, count] : replies_) {
    out.sample("cascaded_http_replies_total", {{"code", std::to_string(code)}},
               static_cast<double>(count));
  }
  out.family("cascaded_requests_total", "counter", "Generations over HTTP that have ended");
  for (const auto& [labels, count] : generations_) {
    out.sample("cascaded_requests_total",
               {{"code", labels.first}, {"finish_reason", labels.second}},
               static_cast<double>(count));
  }
  out.counter("cascaded_prompt_tokens_total", "Prompt tokens of generations over HTTP",
              static_cast<double>(prompt_tokens_));
  out.counter("cascaded_generation_tokens_total", "Tokens of answers over HTTP",
              static_cast<double>(generated_tokens_));
  out.histogram("cascaded_time_to_first_token_seconds", "From acceptance", first_token_);
  out.histogram("cascaded_inter_token_latency_seconds",
                "Mean time between tokens of an answer, observed once for each token",
                inter_token_);
  out.histogram("cascaded_request_queue_time_seconds", "Before the prompt's first slice", queue_);
  out.histogram("cascaded_request_prefill_time_seconds", "To the first token", prefill_);
  out.histogram("cascaded_request_decode_time_seconds", "After the first token", decode_);
  out.histogram("cascaded_e2e_request_latency_seconds", "From acceptance to the end", total_);
  return out.text();
}

}  // namespace cascade
