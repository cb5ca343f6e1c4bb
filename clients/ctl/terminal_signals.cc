// Signal handlers; everything that they call is async-signal-safe.
#include "clients/ctl/terminal_signals.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "clients/ctl/interrupt.h"
#include "clients/ctl/terminal_window.h"

namespace cascade::ctl {
namespace {

constexpr std::string_view kBracketPastes = "\x1b[?2004h";
constexpr std::string_view kPastesAsTyped = "\x1b[?2004l";

// After these signals somebody else has the terminal, for a while or for good.
constexpr std::array kGivesBack = {SIGTSTP, SIGTERM, SIGHUP, SIGQUIT};

std::atomic<bool> continued{false};
std::atomic<bool> resized{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers store to them");

// The terminal's modes as the program found them. Written before handlers are installed.
termios found_modes{};
bool found = false;
bool brackets = false;  // the terminal knows bracketed pastes

// Whether the program is in the foreground: a program in the background is stopped if it touches
// the terminal.
bool has_terminal() {
  return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void write_terminal(std::string_view sequence) {
  if (!brackets || !has_terminal()) return;
  (void)!::write(STDOUT_FILENO, sequence.data(), sequence.size());
}

void on_continue(int) {
  const int error = errno;
  write_terminal(kBracketPastes);
  continued.store(true, std::memory_order_relaxed);
  errno = error;
}

void on_resize(int) {
  resized.store(true, std::memory_order_relaxed);
}

void on_give_back(int signal) {
  const int error = errno;
  write_terminal(kPastesAsTyped);
  if (found && has_terminal()) (void)::tcsetattr(STDIN_FILENO, TCSANOW, &found_modes);
  struct sigaction standard {};
  struct sigaction ours {};
  standard.sa_handler = SIG_DFL;
  sigemptyset(&standard.sa_mask);
  (void)sigaction(signal, &standard, &ours);
  sigset_t this_one;
  sigset_t before;
  sigemptyset(&this_one);
  sigaddset(&this_one, signal);
  (void)pthread_sigmask(SIG_UNBLOCK, &this_one, &before);
  (void)raise(signal);  // ends the program, or stops it here until it is continued
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  (void)sigaction(signal, &ours, nullptr);
  on_continue(SIGCONT);  // the kernel does not stop a program that nobody could continue
  errno = error;
}

// Returns whether the flag was set, and clears it.
bool take(std::atomic<bool>& flag) {
  return flag.exchange(false, std::memory_order_relaxed);
}

}  // namespace

TerminalSignals::TerminalSignals() {
  found = ::tcgetattr(STDIN_FILENO, &found_modes) == 0;
  brackets = obeys_escapes() && ::isatty(STDOUT_FILENO) == 1;
  const auto install = [this](int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;  // writing continues; waits end all the same
    Before before{signal, {}};
    // Ignored signals stay ignored: under nohup, and in shells without job control.
    (void)sigaction(signal, nullptr, &before.action);
    if (before.action.sa_handler == SIG_IGN) return;
    (void)sigaction(signal, &action, nullptr);
    before_.push_back(before);
  };
  for (const int signal : kGivesBack) install(signal, on_give_back);
  install(SIGCONT, on_continue);
  install(SIGWINCH, on_resize);
  write_terminal(kBracketPastes);
}

TerminalSignals::~TerminalSignals() {
  for (const Before& before : before_) (void)sigaction(before.signal, &before.action, nullptr);
  write_terminal(kPastesAsTyped);
}

Wake wait_for_input(int fd) {
  sigset_t blocked;
  sigset_t outside;
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGTSTP, SIGCONT, SIGWINCH}) sigaddset(&blocked, signal);
  (void)pthread_sigmask(SIG_BLOCK, &blocked, &outside);
  sigset_t inside = outside;
  for (const int signal : {SIGINT, SIGTSTP, SIGCONT, SIGWINCH}) sigdelset(&inside, signal);
  Wake wake = Wake::kInput;
  for (bool waiting = true; waiting;) {
    pollfd item{fd, POLLIN, 0};
    if (interrupted()) {
      wake = Wake::kInterrupt;
    } else if (take(continued)) {
      wake = Wake::kContinued;
    } else if (take(resized)) {
      wake = Wake::kResized;
    } else if (ppoll(&item, 1, nullptr, &inside) <= 0) {
      continue;
    }
    waiting = false;
  }
  (void)pthread_sigmask(SIG_SETMASK, &outside, nullptr);
  return wake;
}

}  // namespace cascade::ctl
