// What the daemon keeps of a chat: --retain and --ttl.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "clients/cpp/client.h"
#include "clients/ctl/retain.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// Asks a person; the answer, or nothing if there is none: Ctrl-C, or the end of the input.
using Ask = std::function<std::optional<std::string>(const std::string& question)>;

// The outputs of one conversation after the other. With Retain::kAsk they expire soon after their
// turns, so that none outlives a chat which ended without an answer: a closed window, a crash.
class ChatRetention {
 public:
  // `ttl_ms`: how long what is kept lives; absent: as the daemon's policy says. `ask` is needed for
  // Retain::kAsk alone. `client` and `screen` must outlive it.
  ChatRetention(client::Client& client, Screen& screen, Retain retain,
                std::optional<int64_t> ttl_ms, Ask ask);

  Retain retain() const { return retain_; }
  // Says in the request of a turn what becomes of its answer.
  void apply(wire::GenerateRequest& request) const;
  // This conversation made the output `id`; it was deleted.
  void made(const std::string& id);
  void deleted(const std::string& id);

  // The conversation is over: asks, if it is to be asked and there is something to ask for, and
  // keeps or deletes the outputs. Without an answer they expire. Returns the first error.
  Status end_conversation();

 private:
  Status keep();
  Status remove();
  void say(const std::string& text);

  client::Client& client_;
  Screen& screen_;
  const Retain retain_;
  const std::optional<int64_t> ttl_ms_;
  const Ask ask_;
  std::map<std::string, int64_t> made_;  // id: how often
};

}  // namespace cascade::ctl
