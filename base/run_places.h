// Where daemons have their sockets by default: one rule for the daemon and its clients. The clients
// for Python and Node have the same rule; tests/run_places.json has its results, for all of them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cascade {

// The name of the clients' socket in a run directory.
inline constexpr char kSocketName[] = "cascaded.sock";

// The run directory of the system's service.
inline constexpr char kSystemRunDir[] = "/run/cascaded";

// The facts that the rule depends on.
struct RunSurroundings {
  uid_t user = 0;
  std::string runtime_directory;  // $RUNTIME_DIRECTORY: systemd made these folders for its service
  std::string xdg_runtime_dir;    // $XDG_RUNTIME_DIR
  // The owner of the folder; nullopt if `path` is not a folder, or is a link.
  std::function<std::optional<uid_t>(const std::string& path)> owner_of;
};

// The surroundings of this process. Reads the environment, which no other thread may change at the
// same time.
RunSurroundings run_surroundings();

// The places where a daemon of this user may have its run directory; it takes the first:
//   1. the first folder of $RUNTIME_DIRECTORY;
//   2. /run/cascaded, if this user owns it, or if the user is root and it does not exist;
//   3. $XDG_RUNTIME_DIR/cascaded, if $XDG_RUNTIME_DIR is a folder of this user;
//   4. /run/user/UID/cascaded, if /run/user/UID is a folder of this user;
//   5. /tmp/cascaded-UID.
// Never empty. Somebody else may own the last place; the caller has to check before using it.
std::vector<std::string> own_run_dirs(const RunSurroundings& around);

// The places where a client of this user looks for a daemon, in this order: those of
// own_run_dirs(), without /tmp/cascaded-UID unless this user owns it, and then /run/cascaded,
// whoever owns it.
std::vector<std::string> client_run_dirs(const RunSurroundings& around);

}  // namespace cascade
