// The key itself is kept nowhere.
#include "clients/ctl/key_commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "clients/ctl/run.h"
#include "wire/http/api_keys.h"

namespace cascade::ctl {
namespace {

// In one write, behind what is there.
Status append_line(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return io_error(path, errno);
  const std::string text = line + "\n";
  const ssize_t written = ::write(file, text.data(), text.size());
  const int error = errno;
  ::close(file);
  if (written == static_cast<ssize_t>(text.size())) return {};
  return io_error(path, written < 0 ? error : ENOSPC);
}

}  // namespace

int run_key_new(Screen& screen, const KeyOptions& options) {
  if (!http::is_tenant_name(options.tenant)) {
    print_error(screen, invalid_argument("--tenant", "must have 1 to 32 of a-z, 0-9, _ and -"));
    return kExitUsage;
  }
  const std::string key = http::new_api_key();
  const std::string line = http::api_key_line(options.tenant, key);
  if (!options.file.empty()) {
    if (const Status added = append_line(options.file, line); !added.ok()) {
      print_error(screen, added.error());
      return exit_code_of(added.error());
    }
  }
  if (screen.json) {
    OrderedJson object;
    object["key"] = key;
    object["line"] = line;
    screen.out << object.dump() << std::endl;
    return kExitOk;
  }
  screen.out << key << '\n';
  if (options.file.empty()) screen.out << line << '\n';
  screen.out << std::flush;
  screen.err << (options.file.empty()
                     ? "The first line is the key, shown this once; the second is for the file of "
                       "cascaded --http-keys."
                     : "This is the key, shown this once; " + options.file +
                           " has its hash. A daemon reads the file when it starts or is reloaded.")
             << std::endl;
  return kExitOk;
}

}  // namespace cascade::ctl
