// Waits for a daemon that is loading its model, and shows how far the load is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "clients/cpp/client.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// "[##########..............] 40 %"; "" if it is not known how much is loaded.
std::string loading_bar(const wire::Loading& loading);

// On a terminal, shows a bar in one line and removes it at the end. Elsewhere, says once that it
// waits. With --json, prints nothing. It may wait several times.
class LoadingWait {
 public:
  // `terminal`: whether screen.err is one. `screen` outlives it.
  LoadingWait(Screen& screen, bool terminal) : screen_(screen), terminal_(terminal) {}

  // As ClientOptions::on_loading: returns whether to go on waiting, which is true until Ctrl-C is
  // pressed. nullptr: the wait is over.
  bool look(const wire::Loading* loading);

 private:
  void show(const wire::Loading& loading, bool first);

  Screen& screen_;
  const bool terminal_;
  std::optional<InterruptGuard> guard_;  // since the first answer
  size_t columns_ = 0;                   // of the shown line
};

// Client::connect() with a LoadingWait; `screen` must outlive the client. Errors: those of
// Client::connect(); after Ctrl-C client::is_loading().
Result<client::Client> connect_waiting(Screen& screen, const std::string& endpoint,
                                       const std::string& model);

// Client::connect() for a look at the status. Does not wait for a daemon that is loading its model:
// sets `loading`, which must outlive the client, and returns client::is_loading().
Result<client::Client> connect_to_look(const std::string& endpoint, const std::string& model,
                                       std::optional<wire::Loading>& loading);

// Prints "loading, 40 %", or the same as JSON, for a command that does not wait for the daemon.
void print_loading(Screen& screen, const wire::Loading& loading);

}  // namespace cascade::ctl
