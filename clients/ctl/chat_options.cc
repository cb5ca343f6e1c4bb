// Adds the chat's options, among them those for the session and for retention.
#include "clients/ctl/chat_options.h"

#include "clients/ctl/chunk_options.h"
#include "clients/ctl/session_options.h"

namespace cascade::ctl {

void add_chat_options(CLI::App& command, ChatOptions& options) {
  command.footer(
      "exit, quit and help, each alone on a line, do what /exit, /quit and /help do, in a pipe "
      "too. Write \"\"\"exit\"\"\" to send the word.");
  command.add_option("--system", options.system, "The system prompt")->check(text());
  add_session_option(command, options.params.session);
  const auto set_retain = [&options](const std::string& name) {
    options.retain = name == "never" ? Retain::kNever
                     : name == "ask" ? Retain::kAsk
                                     : Retain::kAlways;
  };
  command
      .add_option_function<std::string>(
          "--retain", set_retain,
          "Whether answers are kept as outputs. always (the default): they are. ask: the chat "
          "asks when a conversation ends (/bye, /clear, /continue, Ctrl-D); without a reply, its "
          "outputs expire within a day. never: each turn sends the conversation as text")
      ->check(CLI::IsMember({"never", "ask", "always"}));
  const auto set_ttl = [&options](const std::string& value) {
    options.params.output_ttl_ms = parse_duration_ms(value);
  };
  command
      .add_option_function<std::string>("--ttl", set_ttl,
                                        "Delete each kept output after this time: 90s, 10m, 2h, "
                                        "7d (default: the daemon's policy)")
      ->check(duration(Never::kNo));
}

void check_chat_options(const CLI::App& command, ChatOptions& options) {
  const bool never = options.retain == Retain::kNever;
  if (never && command.count("--ttl") > 0) throw CLI::ExcludesError("--ttl", "--retain never");
  if (options.retain != Retain::kAlways && !options.params.session.empty()) {
    throw CLI::ExcludesError("--session", never ? "--retain never" : "--retain ask");
  }
  options.params.retain_output = !never;
}

}  // namespace cascade::ctl
