// Status as names and values.
#include "clients/ctl/status_text.h"

#include "base/attention_mode.h"
#include "base/counted.h"
#include "clients/ctl/facts.h"
#include "clients/ctl/units.h"

namespace cascade::ctl {
namespace {

// Nothing if no speed was measured yet.
std::string comma_speed(double tokens_per_s) {
  if (tokens_per_s <= 0) return "";
  return ", " + std::to_string(static_cast<int64_t>(tokens_per_s + 0.5)) + " tokens/s";
}

std::string share(int64_t part, int64_t whole) {
  if (whole <= 0) return "";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return " (" + std::to_string(static_cast<int>(percent + 0.5)) + " %)";
}

std::string with_commas(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string render_status(const wire::StatusReply& status, const Style& style) {
  Facts facts;
  const int64_t prompt_tokens = status.tokens_reused + status.tokens_prefilled;
  facts.add("state", status.state + ", up " + format_duration(status.uptime_us));
  facts.add("version", status.version);
  facts.add("model", status.model + " (" + status.model_type + ", " + status.weight_type + ", " +
                         format_bytes(status.weight_bytes) + ")");
  facts.add("computes with", status.isa + ", " + counted(status.threads, "thread"));
  std::string context = std::to_string(status.context_tokens_max) + " tokens";
  if (status.sequence_tokens_max > 0 && status.sequence_tokens_max < status.context_tokens_max) {
    const auto attention = parse_attention(status.attention);
    const bool may_read = !attention.ok() || attention->mode.is_dense();
    context += std::string(", of which memory ") + (may_read ? "and disk have" : "has") +
               " room for " + std::to_string(status.sequence_tokens_max);
  }
  facts.add("context", context);
  if (!status.attention.empty() && status.attention != "dense") {
    facts.add("attention", status.attention);
  }
  facts.add("KV cache",
            format_bytes(status.kv_bytes_used) + " of " + format_bytes(status.kv_bytes_max) +
                share(status.kv_bytes_used, status.kv_bytes_max) + ", " + status.kv_type + ", " +
                format_bytes(status.kv_bytes_per_token) + " a token");
  if (status.kv_disk_bytes && status.kv_disk_bytes_max) {
    facts.add("KV on disk", format_bytes(*status.kv_disk_bytes) + " of " +
                                format_bytes(*status.kv_disk_bytes_max) +
                                share(*status.kv_disk_bytes, *status.kv_disk_bytes_max));
  }
  if (const auto& states = status.states) {
    facts.add("states", std::to_string(states->states_kept) + " kept, in " +
                            format_bytes(states->states_used * states->state_bytes) + " of " +
                            format_bytes(states->states_max * states->state_bytes) +
                            share(states->states_used, states->states_max) + "; " +
                            std::to_string(states->on_disk) + " on disk");
  }
  facts.add("chunks",
            counted(status.chunks_output, "output") + ", " + counted(status.chunks_input, "input"));
  facts.add("requests", std::to_string(status.requests_running) + " running, " +
                            std::to_string(status.requests_waiting) + " of " +
                            std::to_string(status.requests_waiting_max) + " waiting");
  facts.add("requests ended", std::to_string(status.requests_done) + " done, " +
                                  std::to_string(status.requests_failed) + " failed, " +
                                  std::to_string(status.requests_cancelled) + " cancelled");
  facts.add("prompt tokens", std::to_string(status.tokens_reused) + " reused" +
                                 share(status.tokens_reused, prompt_tokens) + ", " +
                                 std::to_string(status.tokens_prefilled) + " prefilled" +
                                 comma_speed(status.prefill_tokens_per_s));
  facts.add("generated tokens",
            std::to_string(status.tokens_generated) + comma_speed(status.decode_tokens_per_s));
  if (status.tokens_selected > 0) {
    facts.add("selected pages", "by " + counted(status.tokens_selected, "token"));
  }
  if (status.tokens_drafted > 0) {
    facts.add("drafts", std::to_string(status.tokens_drafted) + ", " +
                            std::to_string(status.tokens_accepted) + " right" +
                            share(status.tokens_accepted, status.tokens_drafted));
  }
  if (status.tokens_moved > 0 || status.tokens_approximate > 0) {
    facts.add("approximate tokens", std::to_string(status.tokens_approximate) + " reused, " +
                                        std::to_string(status.tokens_moved) + " moved");
  }
  facts.add("prefilled again", counted(status.tokens_reprefilled, "token") + ", " +
                                   counted(status.reprefills_pending, "output") + " pending");
  facts.add("pages evicted", status.pages_evicted);
  if (!status.actors_restarted.empty()) {
    facts.add("actors restarted", with_commas(status.actors_restarted));
  }
  for (const std::string& warning : status.warnings) facts.add("warning", warning);
  return facts.render(style);
}

}  // namespace cascade::ctl
