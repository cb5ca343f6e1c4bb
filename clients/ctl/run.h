// All of cascadectl except main().
#pragma once

#include "base/result.h"
#include "clients/cpp/client.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// Exit codes of cascadectl.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;       // the request failed, or a command of a piped chat
                                            // failed
inline constexpr int kExitUsage = 2;        // the command line is wrong, or what it asks for
inline constexpr int kExitUnreachable = 3;  // no daemon answers
inline constexpr int kExitCut = 4;          // answered, but a limit of tokens cut an answer

// kExitUnreachable if no daemon was reached; kExitUsage for kInvalidArgument, whether it comes from
// us or from the daemon; else kExitFailed.
int exit_code_of(const Error& error);
// kExitFailed for a cancelled generation, kExitCut for one that a limit of tokens ended, else
// kExitOk.
int exit_code_of(const client::Generation& generation);
// The exit code of several requests, made from the code so far and the next request's: the code of
// the first request that failed, or kExitCut if one was cut and none failed.
int worse_exit_code(int before, int next);

// Says on `screen` what is wrong. Returns exit_code_of(error), for a command to return.
int failed(Screen& screen, const Error& error);

// Parses the command line and runs its command; returns the exit code. Once per process.
int run(int argc, char** argv);

}  // namespace cascade::ctl
