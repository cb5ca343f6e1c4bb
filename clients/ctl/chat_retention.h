// --retain and --ttl: what the daemon keeps of a chat.
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

// Asks a person. Returns the answer, or nothing if there is none: Ctrl-C, or the end of the input.
using Ask = std::function<std::optional<std::string>(const std::string& question)>;

// The outputs of one conversation after another. With Retain::kAsk they expire soon after their
// turns, so that none stays for long after a chat that ended without an answer: a closed window, a
// crash.
class ChatRetention {
 public:
  // `ttl_ms` is the time to live of what is kept; absent means the daemon's policy. Only
  // Retain::kAsk needs `ask`. `client` and `screen` must outlive this object.
  ChatRetention(client::Client& client, Screen& screen, Retain retain,
                std::optional<int64_t> ttl_ms, Ask ask);

  Retain retain() const { return retain_; }
  // Sets in the request of a turn what becomes of its answer.
  void apply(wire::GenerateRequest& request) const;
  // Notes that this conversation made, or deleted, the output `id`.
  void made(const std::string& id);
  void deleted(const std::string& id);

  // Ends the conversation. With Retain::kAsk, asks if there is anything to ask about, and keeps or
  // deletes the outputs. Without an answer they expire. Returns the first error.
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
  std::map<std::string, int64_t> made_;  // id: how often the conversation made it
};

}  // namespace cascade::ctl
