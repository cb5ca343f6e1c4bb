// API keys are not kept anywhere. A secret key is kept only in one file, which must not exist
// before.
#include "clients/ctl/key_commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/text_file.h"
#include "clients/ctl/run.h"
#include "wire/curve/allow_list.h"
#include "wire/curve/key_pair.h"
#include "wire/http/api_keys.h"
#include "wire/key_lines.h"

namespace cascade::ctl {
namespace {

constexpr size_t kFileBytesMax = size_t{16} << 20;

int fail(Screen& screen, const Error& error) {
  print_error(screen, error);
  return exit_code_of(error);
}

// Writes the text with a single write. `flags` are those of open(2).
Status write_text(const std::string& path, int flags, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  if (file < 0) return io_error(path, errno);
  const ssize_t written = ::write(file, text.data(), text.size());
  int error = written < 0 ? errno : 0;
  if (error == 0 && written != static_cast<ssize_t>(text.size())) error = ENOSPC;
  if (error == 0 && ::fsync(file) != 0 && errno != EINVAL) error = errno;
  ::close(file);
  return error == 0 ? Status() : io_error(path, error);
}

// The contents of the file; empty if there is no file.
Result<std::string> keys_in(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return std::string();
  return read_text_file(path, kFileBytesMax);
}

// Appends a line to a file that contains `text`; its last line may lack its newline.
Status append_line(const std::string& path, const std::string& text, const std::string& line) {
  const bool open = !text.empty() && text.back() != '\n';
  return write_text(path, O_APPEND, (open ? "\n" : "") + line + "\n");
}

Status replace(const std::string& path, const std::string& text) {
  const std::string next = path + ".new";
  RETURN_IF_ERROR(write_text(next, O_TRUNC, text));
  if (::rename(next.c_str(), path.c_str()) == 0) return {};
  const Error error = io_error(path, errno);
  ::unlink(next.c_str());
  return error;
}

int new_pair(Screen& screen, const KeyOptions& options) {
  if (options.file.empty()) {
    return fail(screen, invalid_argument("--file", "is needed: where the secret key is written"));
  }
  const auto keys = curve::new_key_pair();
  if (!keys.ok()) return fail(screen, keys.error());
  // Never overwrites another pair: data that was encrypted to that pair could no longer be read.
  const Status written = write_text(options.file, O_EXCL, curve::key_file_text(*keys));
  if (!written.ok()) return fail(screen, written.error());
  if (screen.json) {
    OrderedJson object;
    object["public_key"] = keys->public_key;
    object["file"] = options.file;
    screen.out << object.dump() << std::endl;
    return kExitOk;
  }
  screen.out << keys->public_key << std::endl;
  screen.err << "This is the public key; " << options.file << " has both." << std::endl;
  return kExitOk;
}

bool check_tenant(Screen& screen, const KeyOptions& options) {
  if (is_tenant_name(options.tenant)) return true;
  print_error(screen, invalid_argument("--tenant", kTenantNameRule));
  return false;
}

}  // namespace

int run_key_new(Screen& screen, const KeyOptions& options) {
  if (!check_tenant(screen, options)) return kExitUsage;
  if (options.curve) return new_pair(screen, options);
  const std::string key = http::new_api_key();
  const std::string line = http::api_key_line(options.tenant, key);
  if (!options.file.empty()) {
    const auto text = keys_in(options.file);
    if (!text.ok()) return fail(screen, text.error());
    const Status added = append_line(options.file, *text, line);
    if (!added.ok()) return fail(screen, added.error());
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

int run_key_allow(Screen& screen, const KeyOptions& options) {
  if (!check_tenant(screen, options)) return kExitUsage;
  if (!curve::is_key(options.key)) {
    return fail(screen, invalid_argument("KEY", "must be a public key: 40 characters of Z85"));
  }
  const std::string line = options.tenant + " " + options.key;
  const auto text = keys_in(options.file);
  if (!text.ok()) return fail(screen, text.error());
  const auto list = curve::AllowList::parse(*text);
  if (!list.ok()) return fail(screen, list.error());
  if (const auto tenant = list->tenant_of(options.key)) {
    if (*tenant == options.tenant) return kExitOk;
    return fail(screen, {ErrorCode::kConflict, "KEY",
                         "is of the tenant " + *tenant + "; `cascadectl key revoke` it first"});
  }
  const Status added = append_line(options.file, *text, line);
  if (!added.ok()) return fail(screen, added.error());
  screen.err << "A daemon reads " << options.file << " when it starts or is reloaded." << std::endl;
  return kExitOk;
}

int run_key_revoke(Screen& screen, const KeyOptions& options) {
  const auto text = read_text_file(options.file, kFileBytesMax);
  if (!text.ok()) return fail(screen, text.error());
  auto left = without_key(*text, options.key);
  // Files contain the hash of an API key.
  if (!left) left = without_key(*text, sha256(options.key).hex());
  if (!left) {
    return fail(screen, {ErrorCode::kNotFound, "KEY", "is not in " + options.file});
  }
  const Status replaced = replace(options.file, *left);
  if (!replaced.ok()) return fail(screen, replaced.error());
  screen.err << "A daemon reads " << options.file << " when it starts or is reloaded." << std::endl;
  return kExitOk;
}

}  // namespace cascade::ctl
