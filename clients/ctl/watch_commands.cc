// Both commands run until Ctrl-C, a count, or the end of the daemon.
#include "clients/ctl/watch_commands.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "clients/cpp/event_stream.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/watch_text.h"

namespace cascade::ctl {
namespace {

// The length of one wait; a signal ends it sooner.
constexpr int64_t kWaitMs = 1'000;
// Clears the terminal's page and moves to its beginning.
constexpr const char* kNewPage = "\x1b[H\x1b[2J";

int64_t now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

bool is_wanted(const wire::EventNotice& event, const std::vector<std::string>& kinds) {
  return kinds.empty() || std::ranges::find(kinds, to_string(event.kind)) != kinds.end();
}

void print_event(Screen& screen, const wire::EventNotice& event) {
  if (screen.json) return print_json(screen, to_json_object(event));
  screen.out << render_event(event, screen.style) << std::endl;
}

void print_gap(Screen& screen) {
  if (screen.json) return print_json(screen, OrderedJson{{"gap", true}});
  screen.err << "events were lost: the oldest ones that are kept follow" << std::endl;
}

void wait(int64_t ms) {
  const int64_t end_us = now_us() + ms * 1000;
  while (!interrupted()) {
    const int64_t left_us = end_us - now_us();
    if (left_us <= 0) return;
    (void)::poll(nullptr, 0, static_cast<int>(std::min<int64_t>(left_us / 1000 + 1, kWaitMs)));
  }
}

Result<TopFrame> look(client::Client& client) {
  TopFrame frame;
  ASSIGN_OR_RETURN(frame.status, client.status());
  ASSIGN_OR_RETURN(frame.stats, client.get_chunk_stats());
  return frame;
}

OrderedJson json_of(const TopFrame& frame) {
  OrderedJson object;
  object["status"] = to_json_object(frame.status);
  object["stats"] = to_json_object(frame.stats);
  return object;
}

}  // namespace

int run_events(client::Client& client, Screen& screen, const WatchOptions& options) {
  const InterruptGuard guard;
  auto stream = client::EventStream::connect(client.endpoint(), options.since, client.options());
  if (!stream.ok()) return failed(screen, stream.error());
  for (int64_t shown = 0; !interrupted();) {
    const auto next = stream->next(kWaitMs);
    if (!next.ok()) return failed(screen, next.error());
    if (next->gap) print_gap(screen);
    for (const wire::EventNotice& event : next->events) {
      if (!is_wanted(event, options.kinds)) continue;
      print_event(screen, event);
      if (++shown == options.count) return kExitOk;
    }
  }
  return kExitOk;
}

int run_top(client::Client& client, Screen& screen, const WatchOptions& options) {
  const InterruptGuard guard;
  std::optional<TopFrame> before;
  int64_t before_us = now_us();
  for (int64_t shown = 0; !interrupted();) {
    auto frame = look(client);
    if (!frame.ok()) return failed(screen, frame.error());
    const int64_t taken_us = now_us();
    if (screen.json) {
      print_json(screen, json_of(*frame));
    } else {
      screen.out << (screen.terminal ? kNewPage
                     : shown > 0     ? "\n"
                                     : "")
                 << render_top(*frame, before, taken_us - before_us, screen.style) << std::flush;
    }
    if (++shown == options.count) return kExitOk;
    before = *std::move(frame);
    before_us = taken_us;
    wait(options.interval_ms);
  }
  return kExitOk;
}

}  // namespace cascade::ctl
