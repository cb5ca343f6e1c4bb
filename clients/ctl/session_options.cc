// Adds commands that take sessions by name and policies by type.
#include "clients/ctl/session_options.h"

#include "clients/ctl/chunk_options.h"
#include "wire/request_rules.h"

namespace cascade::ctl {
namespace {

void add_name(CLI::App& command, std::string& name) {
  command.add_option("NAME", name, "The session's name")->check(text())->required();
}

void add_policy_set(CLI::App& command, wire::PolicySet& policy) {
  const auto set_type = [&policy](const std::string& name) {
    policy.type = chunk_type_from_string(name).value_or(policy.type);
  };
  command
      .add_option_function<std::string>("TYPE", set_type,
                                        "SYSTEM_PROMPT, CONTEXT, OUTPUT, QUERY or SUMMARY")
      ->transform(CLI::IsMember({"SYSTEM_PROMPT", "CONTEXT", "OUTPUT", "QUERY", "SUMMARY"},
                                CLI::ignore_case))
      ->required();
  // parse_duration_ms() accepts neither "never" nor a 0 without a unit; both mean 0 here.
  const auto set_ttl = [&policy](const std::string& value) {
    policy.ttl_ms = parse_duration_ms(value).value_or(0);
  };
  command
      .add_option_function<std::string>(
          "--ttl", set_ttl,
          "How long they live: 90s, 10m, 2h, 7d; never (or 0): they do not expire")
      ->check(duration(Never::kWordOrZero))
      ->required();
}

}  // namespace

SessionCommands add_session_commands(CLI::App& session, CLI::App& policy, Options& options) {
  SessionCommands commands;
  session.require_subcommand(1);
  commands.list = session.add_subcommand("list", "List sessions, the most recently used first");
  commands.list
      ->add_option("--limit", options.session.limit, "The largest number of entries (1 to 1000)")
      ->check(CLI::Range(1, wire::kListLimitMax))
      ->capture_default_str();
  commands.show = session.add_subcommand("show", "Show one session and its turns");
  add_name(*commands.show, options.session.name);
  commands.remove =
      session.add_subcommand("delete", "Delete a session; without --outputs, its outputs stay");
  add_name(*commands.remove, options.session.name);
  commands.remove->add_flag("--outputs", options.session.outputs,

                            "Delete the outputs of its turns, too, if nobody else holds them");
  policy.require_subcommand(1);
  commands.policy_list = policy.add_subcommand("list", "List how long chunks of each type live");
  commands.policy_set = policy.add_subcommand(
      "set", "Set how long chunks of a type live if they are made from now on without --ttl");
  add_policy_set(*commands.policy_set, options.policy);
  for (CLI::App* parent : {&session, &policy}) {
    for (CLI::App* command : parent->get_subcommands({})) command->fallthrough();
  }
  return commands;
}

std::optional<Options::Command> chosen_of(const SessionCommands& commands) {
  using Command = Options::Command;
  if (commands.list->parsed()) return Command::kSessionList;
  if (commands.show->parsed()) return Command::kSessionShow;
  if (commands.remove->parsed()) return Command::kSessionDelete;
  if (commands.policy_list->parsed()) return Command::kPolicyList;
  if (commands.policy_set->parsed()) return Command::kPolicySet;
  return std::nullopt;
}

CLI::Option* add_session_option(CLI::App& command, std::string& session) {
  return command
      .add_option("--session", session,
                  "Make the next turn of this session, and keep the output; the first turn "
                  "creates the session")
      ->check(text())
      ->check(not_empty());
}

}  // namespace cascade::ctl
