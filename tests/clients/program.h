// Runs cascadectl in a child process: on pipes, on a terminal of its own, or as a shell's job on
// that terminal.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clients/ctl/run.h"

namespace cascade::ctl::testing {

// The child is forked at once, while this process has only one thread, and waits for start(). A
// fake daemon may be started in between.
class Program {
 public:
  // kJob: the program is the job of a shell. The shell prints "stopped" when Ctrl-Z stops the job
  // and continues it after a line; when the job has ended, it prints "ended, the terminal is as it
  // was" (or "is changed").
  enum class On { kPipes, kTerminal, kJob };

  // `columns`: the width of the terminal; 0: the terminal does not know its width.
  Program(std::vector<std::string> arguments, const std::string& state_folder, On on,
          unsigned short columns = 0) {
    std::fflush(nullptr);
    if (::pipe(go_.data()) != 0) std::abort();
    if (on == On::kPipes) {
      fork_on_pipes();
    } else {
      const winsize size = size_of(columns);
      pid_ = ::forkpty(&out_, nullptr, nullptr, &size);
      in_ = out_;
    }
    if (pid_ < 0) std::abort();
    if (pid_ == 0 && on == On::kJob) be_a_shell();
    if (pid_ == 0) child(std::move(arguments), state_folder);
    ::close(go_[0]);
  }
  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    for (const int fd : {out_, in_ == out_ ? -1 : in_, err_, go_[1]}) {
      if (fd >= 0) ::close(fd);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void start() { write_all(go_[1], "x"); }
  void type(const std::string& text) { write_all(in_, text); }
  void close_input() {
    ::close(in_);
    in_ = -1;
  }
  void interrupt() { send(SIGINT); }
  void send(int signal) { ::kill(pid_, signal); }
  // Sends the signal to the foreground of the terminal: the shell or its job.
  void send_to_foreground(int signal) { ::kill(-::tcgetpgrp(out_), signal); }
  // Stops the program with a signal that it cannot refuse; returns when it has stopped.
  void stop() {
    send(SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
    if (!WIFSTOPPED(status)) ADD_FAILURE() << "it was not stopped but ended";
  }
  // Gives the terminal another size; its foreground process gets SIGWINCH.
  void resize(unsigned short columns) {
    const winsize size = size_of(columns);
    (void)::ioctl(out_, TIOCSWINSZ, &size);
  }
  // Whether the terminal passes whole lines on and shows what is typed, as it does for a shell's
  // jobs.
  bool has_usual_modes() const { return are_usual(out_); }
  void set_usual_modes() {
    termios settings{};
    (void)::tcgetattr(out_, &settings);
    settings.c_lflag |= ICANON | ECHO;
    (void)::tcsetattr(out_, TCSANOW, &settings);
  }

  // Reads until `text` has been printed; fails the test if nothing comes for a minute.
  void expect(const std::string& text) {
    while (printed_.find(text, seen_) == std::string::npos) {
      if (read_some(out_, printed_)) continue;
      ADD_FAILURE() << "\"" << text
                    << "\" was not printed; behind what was seen came: " << printed_.substr(seen_);
      return;
    }
    seen_ = printed_.find(text, seen_) + text.size();
  }

  // Waits until the program waits for a line: the prompt has been printed, and the terminal passes
  // keys on one by one (libedit prints the prompt first).
  void expect_prompt(const std::string& prompt = "> ") {
    expect(prompt);
    for (int waits = 0; waits < 60'000; ++waits) {
      termios settings{};
      if (::tcgetattr(out_, &settings) == 0 && (settings.c_lflag & ICANON) == 0) return;
      ::poll(nullptr, 0, 1);
    }
    ADD_FAILURE() << "the terminal was not switched to single keys";
  }

  // Reads to the end and returns the exit code.
  int finish() {
    while (read_some(out_, printed_)) {
    }
    while (err_ >= 0 && read_some(err_, errors_)) {
    }
    // The output has ended because the program has, unless a minute of silence ended the reading.
    int status = 0;
    if (timed_out_) ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& out() const { return printed_; }
  // The part of the output after everything that was expected so far.
  std::string unseen() const { return printed_.substr(seen_); }
  const std::string& err() const { return errors_; }

 private:
  void fork_on_pipes() {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (::pipe(in.data()) != 0 || ::pipe(out.data()) != 0 || ::pipe(err.data()) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      for (const int fd : {in[0], in[1], out[0], out[1], err[0], err[1]}) ::close(fd);
      return;
    }
    for (const int fd : {in[0], out[1], err[1]}) ::close(fd);
    in_ = in[1];
    out_ = out[0];
    err_ = err[0];
  }

  static bool are_usual(int fd) {
    termios settings{};
    return ::tcgetattr(fd, &settings) == 0 && (settings.c_lflag & ICANON) != 0 &&
           (settings.c_lflag & ECHO) != 0;
  }

  static winsize size_of(unsigned short columns) {
    winsize size{};
    size.ws_row = 50;
    size.ws_col = columns;
    return size;
  }

  // Returns in a child process, which is a job in the foreground of the terminal.
  static void be_a_shell() {
    ::signal(SIGTTOU, SIG_IGN);  // it hands over the terminal from the background
    const pid_t job = ::fork();
    if (job == 0) {
      ::setpgid(0, 0);
      ::tcsetpgrp(STDIN_FILENO, ::getpid());
      ::signal(SIGTTOU, SIG_DFL);
      return;
    }
    ::setpgid(job, job);
    int status = 0;
    while (::waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status)) {
      ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
      (void)!::write(STDOUT_FILENO, "stopped\r\n", 9);
      char byte = 0;
      while (::read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
      }
      ::tcsetpgrp(STDIN_FILENO, job);
      ::kill(-job, SIGCONT);
    }
    ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    const std::string_view end = are_usual(STDIN_FILENO) ? "ended, the terminal is as it was\r\n"
                                                         : "ended, the terminal is changed\r\n";
    (void)!::write(STDOUT_FILENO, end.data(), end.size());
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
  }

  [[noreturn]] void child(std::vector<std::string> arguments, const std::string& state_folder) {
    ::close(go_[1]);
    char byte = 0;
    if (::read(go_[0], &byte, 1) != 1) ::_exit(99);
    ::setenv("XDG_STATE_HOME", state_folder.c_str(), 1);
    ::setenv("HOME", state_folder.c_str(), 1);
    ::setenv("TERM", "xterm", 1);
    ::setenv("NO_COLOR", "1", 1);
    ::unsetenv("XDG_RUNTIME_DIR");
    arguments.insert(arguments.begin(), "cascadectl");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    const int code = run(static_cast<int>(argv.size()), argv.data());
    std::fflush(nullptr);
    ::_exit(code);
  }

  // False at the end of the stream, and after a minute of silence.
  bool read_some(int fd, std::string& to) {
    pollfd item{fd, POLLIN, 0};
    timed_out_ = ::poll(&item, 1, 60'000) <= 0;
    if (timed_out_) return false;
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count <= 0) return false;
    to.append(buffer.data(), static_cast<size_t>(count));
    return true;
  }

  // The child may end without reading everything.
  static void write_all(int fd, const std::string& text) {
    const auto before = ::signal(SIGPIPE, SIG_IGN);
    size_t done = 0;
    ssize_t count = 1;
    while (done < text.size() && count > 0) {
      count = ::write(fd, text.data() + done, text.size() - done);
      if (count > 0) done += static_cast<size_t>(count);
    }
    ::signal(SIGPIPE, before);
  }

  std::array<int, 2> go_{-1, -1};
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string printed_;
  std::string errors_;
  size_t seen_ = 0;
  bool timed_out_ = false;
};

}  // namespace cascade::ctl::testing
