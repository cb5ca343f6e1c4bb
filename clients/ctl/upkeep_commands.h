// cascadectl fsck and backup: by the daemon if one runs, else by this process. Each returns the
// exit code.
#pragma once

#include <string>

#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// kExitFailed if damage is left.
int run_fsck(Screen& screen, const Options& options);
int run_backup(Screen& screen, const Options& options);

// The findings, one per line, and how much was read. Pure.
std::string render_fsck(const wire::FsckReply& reply);

}  // namespace cascade::ctl
