// cascadectl chat.
#pragma once

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// The text that a person sees first: the model, its context and its memory, and what is kept.
// Without `status` it has only the daemon's version. It has no newline at its end. Pure.
std::string chat_greeting(const std::string& version,
                          const std::optional<wire::StatusReply>& status,
                          const ChatOptions& options);

// Runs the command on stdin, with line editing if stdin and stdout are terminals. Returns the exit
// code.
int run_chat(client::Client& client, Screen& screen, const ChatOptions& options);

}  // namespace cascade::ctl
