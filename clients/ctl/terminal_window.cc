// Asks the kernel, which keeps the size of the window.
#include "clients/ctl/terminal_window.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace cascade::ctl {
namespace {

// The columns of terminals that do not say how wide they are: serial lines, pipes of some editors.
constexpr int kUsualColumns = 80;

int columns_of(int fd) {
  winsize size{};
  if (::isatty(fd) != 1) return 0;
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

}  // namespace

int stdout_columns() {
  return columns_of(STDOUT_FILENO);
}

int stderr_columns() {
  return columns_of(STDERR_FILENO);
}

bool obeys_escapes() {
  const char* term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

}  // namespace cascade::ctl
