// Leads from the command line to a command.
#include "clients/ctl/run.h"

#include <langinfo.h>

#include <clocale>
#include <iostream>
#include <string_view>

#include "clients/cpp/endpoint.h"
#include "clients/ctl/chat_start.h"
#include "clients/ctl/chunk_commands.h"
#include "clients/ctl/completion.h"
#include "clients/ctl/config_commands.h"
#include "clients/ctl/doctor.h"
#include "clients/ctl/generate.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/key_commands.h"
#include "clients/ctl/loading_wait.h"
#include "clients/ctl/model_commands.h"
#include "clients/ctl/options.h"
#include "clients/ctl/policy_commands.h"
#include "clients/ctl/session_commands.h"
#include "clients/ctl/status_text.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/upkeep_commands.h"
#include "clients/ctl/watch_commands.h"

namespace cascade::ctl {
namespace {

// libedit reads the terminal in the locale's encoding; ours is UTF-8.
void set_locale() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

// The places where a daemon was looked for.
std::string places_text() {
  std::string text;
  for (const std::string& endpoint : client::default_endpoints()) {
    text += (text.empty() ? "Looked at " : ", ") + one_line(endpoint);
  }
  return text + ".";
}

int explain_unreachable(Screen& screen, const Options& options, const Error& error) {
  const std::string& endpoint = options.endpoint;
  if (!client::is_unreachable(error)) {
    print_error(screen, error);
    return exit_code_of(error);
  }
  if (client::is_forbidden(endpoint)) {
    print_error(screen, {error.code, error.field, endpoint + ": " + error.message});
    return exit_code_of(error);
  }
  print_error(screen,
              {error.code, error.field, "no daemon answers at " + endpoint + ": " + error.message});
  if (!screen.json) {
    if (!options.endpoint_given) screen.err << places_text() << '\n';
    screen.err
        << "Start one with `systemctl start cascaded` (or `systemctl --user start cascaded`, "
           "or `cascaded` in\nanother terminal), or name its endpoint with --endpoint or "
           "CASCADE_ENDPOINT."
        << std::endl;
  }
  return exit_code_of(error);
}

int run_status(client::Client& client, Screen& screen) {
  const Result<wire::StatusReply> status = client.status();
  if (!status.ok()) {
    print_error(screen, status.error());
    return exit_code_of(status.error());
  }
  if (screen.json) {
    print_json(screen, to_json_object(*status));
  } else {
    screen.out << render_status(*status, screen.style) << std::flush;
  }
  return kExitOk;
}

int run_command(client::Client& client, Screen& screen, const Options& options) {
  using Command = Options::Command;
  switch (options.command) {
    case Command::kStatus: return run_status(client, screen);
    case Command::kGenerate: return run_generate(client, screen, std::cin, options.generate);
    case Command::kChat: return run_chat(client, screen, options.chat);
    case Command::kChunkList: return run_chunk_list(client, screen, options.list);
    case Command::kChunkSearch: return run_chunk_search(client, screen, options.search);
    case Command::kChunkShow: return run_chunk_show(client, screen, options.ids.front());
    case Command::kChunkDelete:
      return run_chunk_delete(client, screen, options.ids, options.remove);
    case Command::kChunkPut: return run_chunk_put(client, screen, std::cin, options.put);
    case Command::kChunkUpdate:
      return run_chunk_update(client, screen, options.ids, options.update);
    case Command::kChunkStats: return run_chunk_stats(client, screen);
    case Command::kSessionList: return run_session_list(client, screen, options.session.limit);
    case Command::kSessionShow: return run_session_show(client, screen, options.session.name);
    case Command::kSessionDelete: return run_session_delete(client, screen, options.session);
    case Command::kPolicyList: return run_policy_list(client, screen);
    case Command::kPolicySet: return run_policy_set(client, screen, options.policy);
    case Command::kModelList: return run_model_list(client, screen);
    case Command::kModelLoad: return run_model_load(client, screen, options.model_command);
    case Command::kModelUnload: return run_model_unload(client, screen, options.model_command);
    case Command::kEvents: return run_events(client, screen, options.watch);
    case Command::kTop: return run_top(client, screen, options.watch);
    case Command::kBench: return run_bench(client, screen, options.bench);
    case Command::kDoctor:
    case Command::kFsck:
    case Command::kBackup:
    case Command::kKeyNew:
    case Command::kKeyAllow:
    case Command::kKeyRevoke:
    case Command::kConfigCheck:
    case Command::kConfigShow:
    case Command::kConfigManual:
    case Command::kCompletion: break;  // run_offline() runs them: they can work without a daemon
  }
  return kExitUsage;
}

int run_completion(Screen& screen, const CompletionOptions& options) {
  const bool daemon = options.program == "cascaded";
  const auto script =
      completion_script(options.shell, daemon ? std::vector{daemon_words()} : options.words);
  if (!script.ok()) {
    print_error(screen, script.error());
    return kExitUsage;
  }
  screen.out << *script << std::flush;
  return kExitOk;
}

// Runs a command that can work without a daemon. Returns nullopt if the command needs one.
std::optional<int> run_offline(Screen& screen, const Options& options) {
  using Command = Options::Command;
  switch (options.command) {
    case Command::kDoctor: return run_doctor(screen, options);
    case Command::kFsck: return run_fsck(screen, options);
    case Command::kBackup: return run_backup(screen, options);
    case Command::kKeyNew: return run_key_new(screen, options.key);
    case Command::kKeyAllow: return run_key_allow(screen, options.key);
    case Command::kKeyRevoke: return run_key_revoke(screen, options.key);
    case Command::kConfigCheck: return run_config_check(screen, options.config);
    case Command::kConfigShow: return run_config_show(screen, options.config);
    case Command::kConfigManual: return run_config_manual(screen, options.config);
    case Command::kCompletion: return run_completion(screen, options.completion);
    default: return std::nullopt;
  }
}

}  // namespace

int run(int argc, char** argv) {
  set_locale();
  const std::variant<Options, int> parsed = parse_options(argc, argv, std::cout);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const Options& options = std::get<Options>(parsed);
  Screen screen = standard_screen(options.json);
  if (const Status checked = check_options(options); !checked.ok()) {
    print_error(screen, checked.error());
    return kExitUsage;
  }
  if (const auto code = run_offline(screen, options)) return *code;
  std::optional<wire::Loading> loading;
  Result<client::Client> client = options.command == Options::Command::kStatus
                                      ? connect_to_look(options.endpoint, options.model, loading)
                                      : connect_waiting(screen, options.endpoint, options.model);
  if (loading) {
    print_loading(screen, *loading);
    return kExitOk;
  }
  if (!client.ok()) return explain_unreachable(screen, options, client.error());
  const int code = run_command(*client, screen, options);
  if (!client->all_durable()) {
    screen.err << "warning: the daemon cannot write to its disk: this change is lost if the "
                  "daemon ends before it can (see `cascadectl status`)"
               << std::endl;
  }
  return code;
}

}  // namespace cascade::ctl
