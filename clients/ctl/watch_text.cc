// Rates are differences of counters, because the rates that the daemon measures are only of its
// busy time.
#include "clients/ctl/watch_text.h"

#include <algorithm>

#include "base/counted.h"
#include "clients/ctl/facts.h"
#include "clients/ctl/table.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/units.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {
namespace {

constexpr size_t kKindWidth = 17;
constexpr int kBarWidth = 30;
constexpr int kBarWidthMin = 5;

// `others`: the columns of everything beside the bar.
std::string bar(int64_t used, int64_t whole, int others, const Style& style) {
  if (whole <= 0) return "";
  const int room = style.columns() > 0 ? style.columns() - others : kBarWidth;
  const int width = std::clamp(room, kBarWidthMin, kBarWidth);
  const auto full = static_cast<int>(std::clamp<int64_t>(used * width / whole, 0, width));
  std::string text = style.output(std::string(static_cast<size_t>(full), '#'));
  return "[" + text + std::string(static_cast<size_t>(width - full), '.') + "]";
}

std::string rate(int64_t now, int64_t before, int64_t passed_us) {
  const double seconds = static_cast<double>(passed_us) / 1e6;
  const double per_second = seconds > 0 ? static_cast<double>(now - before) / seconds : 0;
  return std::to_string(static_cast<int64_t>(std::max(per_second, 0.0) + 0.5)) + "/s";
}

std::string render_groups(const std::vector<wire::ChunkGroup>& groups, const Style& style) {
  if (groups.empty()) return "no chunks\n";
  const std::vector<Column> columns = {{"TENANT"},
                                       {"TYPE"},
                                       {"CHUNKS", Align::kRight},
                                       {"PINNED", Align::kRight},
                                       {"HITS", Align::kRight},
                                       {"KV", Align::kRight},
                                       {"TEXT", Align::kRight}};
  std::vector<std::vector<Cell>> rows;
  for (const wire::ChunkGroup& group : groups) {
    const Ink ink = group.type == ChunkType::kOutput ? Ink::kOutput : Ink::kInput;
    rows.push_back({{group.tenant},
                    {std::string(to_string(group.type)), ink},
                    {std::to_string(group.chunks)},
                    {std::to_string(group.pinned)},
                    {std::to_string(group.hits)},
                    {format_bytes(group.kv_bytes)},
                    {format_bytes(group.text_bytes)}});
  }
  return render_table(columns, rows, style);
}

}  // namespace

std::string render_event(const wire::EventNotice& event, const Style& style) {
  std::string kind(to_string(event.kind));
  kind.resize(std::max(kind.size(), kKindWidth), ' ');
  std::string line = style.dim(format_time(event.time_us)) + "  " + style.bold(kind);
  if (event.type) line += " " + std::string(to_string(*event.type));
  line += " " + one_line(event.id);
  line += style.dim("  " + counted(event.tokens, "token"));
  if (!event.reason.empty()) line += "  " + one_line(event.reason);
  return line;
}

std::string render_top(const TopFrame& frame, const std::optional<TopFrame>& before,
                       int64_t passed_us, const Style& style) {
  const wire::StatusReply& now = frame.status;
  const wire::StatusReply& then = before ? before->status : now;
  Facts facts;
  facts.add("cascaded", now.version + ", " + now.state + ", up " + format_duration(now.uptime_us));
  facts.add("model", now.model + ", " + now.weight_type + ", " + now.isa + ", " +
                         counted(now.threads, "thread"));
  facts.add("requests", std::to_string(now.requests_running) + " running, " +
                            std::to_string(now.requests_waiting) + " waiting, " +
                            std::to_string(now.requests_done) + " done, " +
                            std::to_string(now.requests_failed) + " failed, " +
                            std::to_string(now.requests_cancelled) + " cancelled");
  facts.add("tokens", "generated " + rate(now.tokens_generated, then.tokens_generated, passed_us) +
                          ", prefilled " +
                          rate(now.tokens_prefilled, then.tokens_prefilled, passed_us) +
                          ", reused " + rate(now.tokens_reused, then.tokens_reused, passed_us) +
                          ", prefilled again " +
                          rate(now.tokens_reprefilled, then.tokens_reprefilled, passed_us));
  std::string text = facts.render(style);
  const std::string kv = format_bytes(now.kv_bytes_used) + " of " + format_bytes(now.kv_bytes_max);
  const int beside = display_width("KV [] " + kv);
  text += "KV " + bar(now.kv_bytes_used, now.kv_bytes_max, beside, style) + " " + kv + "\n";
  const auto add_line = [&](const std::string& line) {
    text += wrapped(line, style.columns()) + "\n";
  };
  if (const auto& cache = frame.stats.cache) {
    const int64_t asked = cache->page_hits + cache->page_misses;
    const int64_t percent = asked > 0 ? (100 * cache->page_hits + asked / 2) / asked : 0;
    add_line("page hits " + std::to_string(percent) + " %, evicted " +
             std::to_string(cache->evicted) + " (" + std::to_string(cache->evicted_early) +
             " too early), thrashing: " + (cache->thrashing ? style.error("yes") : "no"));
  }
  if (const auto& disk = frame.stats.disk) {
    add_line("disk " + format_bytes(disk->pages * disk->page_bytes) + ", " +
             counted(disk->pages_written, "page") + " written, " +
             std::to_string(disk->pages_loaded) + " loaded");
  }
  text += "\n" + render_groups(frame.stats.groups, style);
  for (const std::string& warning : now.warnings) {
    add_line(style.error("warning: ") + one_line(warning));
  }
  return text;
}

}  // namespace cascade::ctl
