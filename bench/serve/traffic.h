// Many generations at once over several connections, on one thread.
//
// A client::Connection waits on one socket, and has a ZeroMQ context (two threads) of its own. Here
// one poll watches all sockets of one context: so the load itself takes little of the cores that it
// shares with the daemon, and a connection can be closed without a word.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/serve/daemon_process.h"
#include "wire/frames.h"
#include "wire/messages.h"

namespace cascade::serve {

// One generation as its client sees it. Times are those of now_us(); 0: it has not happened.
struct Exchange {
  uint64_t tag = 0;  // the sender's own
  int connection = 0;
  wire::RequestId id{};
  int64_t sent_us = 0;
  int64_t accepted_us = 0;
  int64_t ended_us = 0;
  std::vector<int64_t> delta_us;  // when each Delta came
  int64_t prompt_tokens_done = 0;
  // Exactly one of these is set when the generation has ended.
  std::optional<wire::Final> final;
  std::optional<wire::ErrorReply> error;

  bool ended() const { return ended_us > 0; }
  // Milliseconds from sending to the first Delta, or to the end if there was no Delta.
  double first_text_ms() const;
  double total_ms() const { return static_cast<double>(ended_us - sent_us) / 1e3; }
};
using ExchangePtr = std::shared_ptr<Exchange>;

// Microseconds on a clock that never goes back.
int64_t now_us();

// Used by one thread. Errors of all calls: kUnavailable if the daemon ended, if nothing came from
// it for a minute although something was asked, or if ZeroMQ failed; kCancelled after a signal.
class Traffic {
 public:
  // `daemon` must outlive this object.
  explicit Traffic(DaemonProcess& daemon);
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Returns the number of a new connection. Further error: that of client::probe_endpoint, if the
  // daemon runs.
  Result<int> connect(const std::string& endpoint);
  // Closes the connection as the end of its process would: what was sent arrives, and nothing else
  // is said. Its generations are forgotten.
  void vanish(int connection);

  Result<ExchangePtr> send(int connection, wire::GenerateRequest request, uint64_t tag = 0);
  // Handles the messages that arrive. Returns after the first ones, at `until_us` at the latest,
  // with the generations that have ended.
  Result<std::vector<ExchangePtr>> pump(int64_t until_us);
  // Sends a request, and pumps until it has ended. Further error: the daemon's, if it answered with
  // one instead of a Final.
  Result<ExchangePtr> run(int connection, wire::GenerateRequest request);
  // The daemon's answer. Generations that end meanwhile are returned by the next pump().
  Result<wire::StatusReply> status(int connection);
  Result<wire::StatsReply> stats(int connection);
  // Returns when the Ack came, or the error that says that there was nothing to cancel.
  Status cancel(const Exchange& exchange);

  size_t in_flight() const;

 private:
  struct Sockets;
  Status post(int connection, const wire::RequestId& id, wire::Message message);
  Result<wire::Message> call(int connection, wire::Message message);
  Result<bool> wait(int64_t until_us);
  Status receive_all();
  Status handle(wire::Envelope&& envelope);
  Status check_daemon();
  wire::RequestId next_id();

  DaemonProcess& daemon_;
  std::unique_ptr<Sockets> sockets_;
  uint64_t ids_ = 0;
  std::vector<ExchangePtr> ended_;  // not handed out yet
  // The call() that is waiting for its answer.
  wire::RequestId called_{};
  bool calling_ = false;
  std::optional<wire::Message> answer_;
  int64_t heard_us_ = 0;
  int64_t checked_us_ = 0;
};

}  // namespace cascade::serve
