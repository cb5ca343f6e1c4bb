// What the shell and the window do to a program that uses the terminal: Ctrl-Z, fg, another size.
#pragma once

#include <signal.h>

#include <vector>

namespace cascade::ctl {

// While it lives, the terminal at stdin and stdout brackets what is pasted (xterm's mode 2004), and
// is as it was found whenever the program does not have it: while it is stopped by Ctrl-Z, and when
// SIGTERM, SIGHUP or SIGQUIT ends it. One at a time, on the main thread.
class TerminalSignals {
 public:
  TerminalSignals();
  ~TerminalSignals();
  TerminalSignals(const TerminalSignals&) = delete;
  TerminalSignals& operator=(const TerminalSignals&) = delete;

 private:
  struct Before {
    int signal;
    struct sigaction action;
  };
  std::vector<Before> before_;
};

enum class Wake {
  kInput,      // there is something to read
  kInterrupt,  // SIGINT came: an InterruptGuard lives
  kContinued,  // the program was stopped and goes on: the terminal has other modes, or another line
  kResized,    // the window has another size
};

// Waits for one of them. kContinued and kResized are told once, by a call that was running or by
// the next. The signals are blocked but during the wait, so that none that comes just before it is
// missed.
Wake wait_for_input(int fd);

}  // namespace cascade::ctl
