// Where daemons have their sockets unless they are told: one rule for the daemon and its clients.
// The clients for Python and Node have the same; tests/run_places.json has what it gives, for all.
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

// What the rule depends on.
struct RunSurroundings {
  uid_t user = 0;
  std::string runtime_directory;  // $RUNTIME_DIRECTORY: systemd made these folders for its service
  std::string xdg_runtime_dir;    // $XDG_RUNTIME_DIR
  // The owner of the folder; nullopt if `path` is no folder, or a link.
  std::function<std::optional<uid_t>(const std::string& path)> owner_of;
};

// The surroundings of this process. Reads the environment, which no other thread may change
// meanwhile.
RunSurroundings run_surroundings();

// The places in which a daemon of this user may have its run directory; it takes the first:
//   1. the first folder of $RUNTIME_DIRECTORY;
//   2. /run/cascaded, if it is this user's, or the user is root and there is none;
//   3. $XDG_RUNTIME_DIR/cascaded, if $XDG_RUNTIME_DIR is a folder of this user;
//   4. /run/user/UID/cascaded, if /run/user/UID is one;
//   5. /tmp/cascaded-UID.
// Never empty. The last place may be somebody else's; the caller has to check before it is used.
std::vector<std::string> own_run_dirs(const RunSurroundings& around);

// The places in which a client of this user looks for a daemon, in this order: those above, without
// a /tmp/cascaded-UID that is not this user's, and /run/cascaded, whoever's it is.
std::vector<std::string> client_run_dirs(const RunSurroundings& around);

}  // namespace cascade
