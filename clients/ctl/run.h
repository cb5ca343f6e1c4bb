// The whole of cascadectl behind main().
#pragma once

#include "base/result.h"
#include "clients/cpp/client.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// Exit codes of cascadectl.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;       // the request failed, or a command of a piped chat did
inline constexpr int kExitUsage = 2;        // the command line, or what it asks for, is wrong
inline constexpr int kExitUnreachable = 3;  // no daemon answers
inline constexpr int kExitCut = 4;          // answered, but a limit of tokens cut an answer

// kExitUnreachable; kExitUsage for kInvalidArgument, whoever says so; else kExitFailed.
int exit_code_of(const Error& error);
// kExitFailed of one that was cancelled, kExitCut of one that a limit of tokens ended, else
// kExitOk.
int exit_code_of(const client::Generation& generation);
// The exit code of several requests, from the one so far and the next request's: that of the first
// request that failed; kExitCut only if none failed.
int worse_exit_code(int before, int next);

// Says on `screen` what is wrong; exit_code_of() it, for a command to return.
int failed(Screen& screen, const Error& error);

// Parses the command line and runs its command; returns the exit code. Once per process.
int run(int argc, char** argv);

}  // namespace cascade::ctl
