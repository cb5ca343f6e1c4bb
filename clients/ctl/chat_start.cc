// Finds out who talks: a person at a terminal, or a pipe.
#include "clients/ctl/chat_start.h"

#include <unistd.h>

#include <iostream>

#include "clients/ctl/chat.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/run.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/units.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {
namespace {

std::string session_text(const std::string& name, const Result<wire::SessionReply>& session) {
  const std::string title = "Session " + name;
  if (!session.ok()) {
    const bool begins = session.error().code == ErrorCode::kNotFound;
    return title + (begins ? " begins with the first turn." : ": " + session.error().to_string());
  }
  const int64_t turns = session->session.turns;
  return title + " goes on after " + std::to_string(turns) + (turns == 1 ? " turn" : " turns") +
         "; /output lists them.";
}

void greet(client::Client& client, Screen& screen, const ChatOptions& options) {
  const Result<wire::StatusReply> status = client.status();
  const auto known = status.ok() ? std::optional(*status) : std::nullopt;
  const auto say = [&](const std::string& line) {
    screen.out << screen.style.dim(wrapped(one_line(line), screen.style.columns())) << '\n';
  };
  say(chat_greeting(client.daemon_version(), known, options));
  const std::string& session = options.params.session;
  if (!session.empty()) say(session_text(session, client.get_session(session)));
  say("/help lists the commands.");
  screen.out << std::flush;
}

int run_interactive(client::Client& client, Screen& screen, const ChatOptions& options) {
  std::unique_ptr<LineSource> lines;
  const Ask ask = [&lines](const std::string& question) -> std::optional<std::string> {
    const Line line = lines->ask(question);
    if (line.status != Line::Status::kText) return std::nullopt;
    return one_line(line.text);
  };
  ChatSession session(client, screen,
                      {options.params, options.system, /*interactive=*/true, options.retain, ask});
  greet(client, screen, options);
  const InterruptGuard guard;
  lines = terminal_lines([&session](const std::string& line) {
    const bool wants_id = line.find("-output ") != std::string::npos;
    return completions(line, wants_id ? session.output_ids() : std::vector<std::string>());
  });
  return run_chat(session, *lines, /*interactive=*/true);
}

}  // namespace

std::string chat_greeting(const std::string& version,
                          const std::optional<wire::StatusReply>& status,
                          const ChatOptions& options) {
  std::string text = "Connected to cascaded " + version;
  if (status) {
    text += ": model " + status->model + " (" + status->weight_type + ", " +
            format_bytes(status->weight_bytes) + "), context " +
            std::to_string(status->context_tokens_max) + " tokens, KV cache " +
            format_bytes(status->kv_bytes_used) + " of " + format_bytes(status->kv_bytes_max);
  }
  text += ".";
  if (options.retain == Retain::kNever) text += " Answers are not kept (--retain never).";
  if (options.retain == Retain::kAsk) {
    text += " When a conversation ends, you are asked whether its answers are kept (--retain ask).";
  }
  return text;
}

int run_chat(client::Client& client, Screen& screen, const ChatOptions& options) {
  if (::isatty(STDIN_FILENO) == 1 && screen.terminal && !screen.json) {
    return run_interactive(client, screen, options);
  }
  if (options.retain == Retain::kAsk) {
    print_error(screen, invalid_argument("--retain",
                                         "ask needs a terminal to ask on; in a pipe or "
                                         "with --json it must be never or always"));
    return kExitUsage;
  }
  ChatSession session(client, screen,
                      {options.params, options.system, /*interactive=*/false, options.retain, {}});
  StreamLines lines(std::cin);
  return run_chat(session, lines, /*interactive=*/false);
}

}  // namespace cascade::ctl
