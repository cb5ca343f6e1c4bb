// A chat against a fake daemon, fed by a stream.
#pragma once

#include <gtest/gtest.h>

#include <sstream>

#include "clients/ctl/chat.h"
#include "clients/ctl/run.h"
#include "tests/clients/chat_daemon.h"

namespace cascade::ctl::testing {

using client::testing::ChatDaemon;
using client::testing::TempFolder;

// What a chat printed, and how the chat ended.
struct Outcome {
  std::string out;
  std::string err;
  int code = -1;
};

struct Chat {
  Chat() : daemon(folder.endpoint()), client(client::Client::connect(folder.endpoint())) {}
  Outcome run(const std::string& input, bool json = false, bool interactive = false) {
    return run_with({.params = {}, .system = "", .interactive = interactive}, input, json);
  }
  // Runs a chat in which a person types `input`; `questions` gets the questions that the chat asks.
  Outcome run_with(ChatSettings settings, const std::string& input, bool json = false) {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    const bool interactive = settings.interactive;
    Screen screen{out, err, Style(false), interactive, json};
    StreamLines lines(in);
    settings.ask = [&](const std::string& question) -> std::optional<std::string> {
      questions.push_back(question);
      const Line line = lines.ask(question);
      return line.status == Line::Status::kText ? std::optional(line.text) : std::nullopt;
    };
    ChatSession session(*client, screen, settings);
    const int code = run_chat(session, lines, interactive);
    return {out.str(), err.str(), code};
  }
  std::string composition(size_t number) const {
    const std::vector<std::string> all = daemon.compositions();
    return number < all.size() ? all[number] : "none";
  }
  TempFolder folder;
  ChatDaemon daemon;
  Result<client::Client> client;
  std::vector<std::string> questions;
};

}  // namespace cascade::ctl::testing
