// Waiting for a daemon that loads its model, and what is seen of it meanwhile.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "clients/cpp/client.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// "[##########..............] 40 %"; "" while the share is not known.
std::string loading_bar(const wire::Loading& loading);

// On a terminal it shows a bar in one line, which it takes away in the end; elsewhere it says once
// that it waits; with --json nothing. May wait again and again.
class LoadingWait {
 public:
  // `terminal`: whether screen.err is one. `screen` outlives it.
  LoadingWait(Screen& screen, bool terminal) : screen_(screen), terminal_(terminal) {}

  // As ClientOptions::on_loading: to wait on until Ctrl-C is pressed. nullptr: the wait is over.
  bool look(const wire::Loading* loading);

 private:
  void show(const wire::Loading& loading, bool first);

  Screen& screen_;
  const bool terminal_;
  std::optional<InterruptGuard> guard_;  // since the first answer
  size_t columns_ = 0;                   // of the line that is shown
};

// Client::connect(), by way of a LoadingWait; `screen` outlives the client. Errors: the same; after
// Ctrl-C client::is_loading().
Result<client::Client> connect_waiting(Screen& screen, const std::string& endpoint,
                                       const std::string& model);

// Client::connect() for a look at the status. Does not wait for a daemon that loads its model: it
// sets `loading`, which outlives the client, and returns client::is_loading().
Result<client::Client> connect_to_look(const std::string& endpoint, const std::string& model,
                                       std::optional<wire::Loading>& loading);

// Prints "loading, 40 %", or the same as JSON, for a command that does not wait for the daemon.
void print_loading(Screen& screen, const wire::Loading& loading);

}  // namespace cascade::ctl
