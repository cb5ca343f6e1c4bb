// The process that holds the directory's lock does the work.
#include "clients/ctl/upkeep_commands.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/counted.h"
#include "clients/cpp/client.h"
#include "clients/cpp/endpoint.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/loading_wait.h"
#include "clients/ctl/offline_state.h"
#include "clients/ctl/run.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/units.h"

namespace cascade::ctl {
namespace {

std::string read_text(int64_t pages, int64_t bytes) {
  return counted(pages, "page") + " of K and V (" + format_bytes(bytes) + ") and the database";
}

template <class Reply>
struct Work {
  std::function<Result<Reply>(OfflineState&)> offline;
  std::function<Result<Reply>(client::Client&, const std::string& state_dir)> by_daemon;
};

// `in_use`: why this process cannot do the work itself, if there is a reason.
template <class Reply>
Result<Reply> ask_daemon(Screen& screen, const Options& options, const std::string& state_dir,
                         const std::optional<Error>& in_use, const Work<Reply>& work) {
  Result<client::Client> client = connect_waiting(screen, options.endpoint, options.model);
  if (client.ok()) return work.by_daemon(*client, state_dir);
  const Error& error = client.error();
  if (!in_use || !client::is_unreachable(error)) return error;
  return Error{error.code, error.field,
               state_dir + ": " + in_use->message + ", and no daemon answers at " +
                   options.endpoint + " (name it with --endpoint): " + error.message};
}

template <class Reply>
Result<Reply> run_upkeep(Screen& screen, const Options& options, const Work<Reply>& work) {
  const UpkeepOptions& upkeep = options.upkeep;
  if (upkeep.rebuild && options.endpoint_given && !upkeep.state_dir) {
    return invalid_argument("--rebuild",
                            "works on the directory of a stopped daemon: give --state-dir, not "
                            "--endpoint");
  }
  const bool of_daemon = options.endpoint_given && !upkeep.state_dir && !upkeep.rebuild;
  if (of_daemon) return ask_daemon(screen, options, "", std::nullopt, work);
  std::string state_dir = state_dir_of(upkeep.state_dir);
  // The default model uses the daemon's own state directory; other models have theirs below it.
  if (!state_dir.empty() && !options.model.empty()) state_dir += "/models/" + options.model;
  if (state_dir.empty()) return invalid_argument("--state-dir", "must name a state directory");
  Result<OfflineState> state = OfflineState::open(state_dir, upkeep.rebuild);
  if (state.ok()) return work.offline(*state);
  if (!OfflineState::is_in_use(state.error(), state_dir)) return state.error();
  if (!upkeep.rebuild) return ask_daemon(screen, options, state_dir, state.error(), work);
  return Error{
      ErrorCode::kConflict, state_dir,
      state.error().message + "; --rebuild needs the directory for itself: stop the daemon first"};
}

// The path must be absolute, because the daemon has another working directory.
std::string absolute(const std::string& directory) {
  std::error_code failed_to;
  std::string path = std::filesystem::absolute(directory, failed_to).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

std::string render_fsck(const wire::FsckReply& reply) {
  std::string text;
  for (const wire::FsckFinding& finding : reply.findings) {
    text +=
        one_line(finding.where + ": " + finding.what) + (finding.repaired ? " (repaired)\n" : "\n");
  }
  const int64_t more = reply.found - static_cast<int64_t>(reply.findings.size());
  if (more > 0) text += "and " + std::to_string(more) + " more\n";
  text += "verified " + read_text(reply.pages, reply.bytes) + ": ";
  if (reply.found == 0) return text + "all is well\n";
  return text + counted(reply.found, "finding") + ", " + std::to_string(reply.found - reply.left) +
         " repaired, " + std::to_string(reply.left) + " left\n";
}

int run_fsck(Screen& screen, const Options& options) {
  const bool repair = options.upkeep.repair;
  const Work<wire::FsckReply> work = {
      [&](OfflineState& state) { return state.fsck(repair); },
      [&](client::Client& client, const std::string& dir) { return client.fsck(repair, dir); }};
  const auto reply = run_upkeep(screen, options, work);
  if (!reply.ok()) return failed(screen, reply.error());
  if (screen.json) {
    print_json(screen, to_json_object(*reply));
  } else {
    screen.out << render_fsck(*reply) << std::flush;
    if (reply->left > 0 && !repair) {
      screen.err << "`cascadectl fsck --repair` removes damaged pages, which are computed again, "
                    "and mends the rest."
                 << std::endl;
    }
  }
  return reply->left > 0 ? kExitFailed : kExitOk;
}

int run_backup(Screen& screen, const Options& options) {
  if (options.upkeep.directory.empty()) {
    return failed(screen, invalid_argument("DIR", "must not be empty"));
  }
  const std::string directory = absolute(options.upkeep.directory);
  const Work<wire::BackupReply> work = {
      [&](OfflineState& state) { return state.backup(directory); },
      [&](client::Client& client, const std::string& dir) {
        return client.backup(directory, dir);
      }};
  const auto reply = run_upkeep(screen, options, work);
  if (!reply.ok()) return failed(screen, reply.error());
  if (screen.json) {
    print_json(screen, to_json_object(*reply));
  } else {
    screen.out << "copied " << read_text(reply->pages, reply->bytes) << " to "
               << one_line(directory) << std::endl;
    if (reply->pages_bad > 0) {
      screen.err << counted(reply->pages_bad, "damaged page")
                 << (reply->pages_bad == 1 ? " was" : " were") << " left out" << std::endl;
    }
  }
  return kExitOk;
}

}  // namespace cascade::ctl
