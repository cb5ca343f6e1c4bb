// What the shell and the window do to a program that uses the terminal: Ctrl-Z, fg, another size.
#pragma once

#include <signal.h>

#include <vector>

namespace cascade::ctl {

// While this object lives, the terminal at stdin and stdout brackets pasted text (xterm's mode
// 2004). Whenever the program does not have the terminal, the terminal is as it was found: while
// the program is stopped by Ctrl-Z, and when SIGTERM, SIGHUP or SIGQUIT ends it. One at a time, on
// the main thread.
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
  kContinued,  // the program was stopped and continues: the terminal has other modes, or another
               // line
  kResized,    // the window has another size
};

// Waits for one of these. kContinued and kResized are reported once, by the running call or by the
// next one. The signals are blocked except during the wait, so that a signal just before the wait
// is not missed.
Wake wait_for_input(int fd);

}  // namespace cascade::ctl
