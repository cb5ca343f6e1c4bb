// The whole of cascadectl behind main().
#pragma once

#include "base/result.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// Exit codes of cascadectl.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;       // the request failed, or a command of a piped chat did
inline constexpr int kExitUsage = 2;        // the command line, or what it asks for, is wrong
inline constexpr int kExitUnreachable = 3;  // no daemon answers

// kExitUnreachable; kExitUsage for kInvalidArgument, whoever says so; else kExitFailed.
int exit_code_of(const Error& error);

// Says on `screen` what is wrong; exit_code_of() it, for a command to return.
int failed(Screen& screen, const Error& error);

// Parses the command line and runs its command; returns the exit code. Once per process.
int run(int argc, char** argv);

}  // namespace cascade::ctl
