// Reads a key pair and an allow-list from their files.
#include "daemon/tcp_door.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>

#include "actors/http/listener.h"
#include "base/text_file.h"
#include "config/file_writers.h"
#include "wire/curve/key_pair.h"

namespace cascade {
namespace {

constexpr size_t kKeyFileBytesMax = size_t{64} << 10;
constexpr size_t kListBytesMax = size_t{16} << 20;  // about 200,000 clients

Result<curve::KeyPair> read_key(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return io_error("--tcp-key: " + path, errno);
  if ((status.st_mode & S_IRWXO) != 0) {
    return invalid_argument("--tcp-key", path + ": others may read or write it (chmod 600)");
  }
  const auto text = read_text_file(path, kKeyFileBytesMax);
  if (!text.ok()) return Error{text.error().code, "--tcp-key", text.error().to_string()};
  auto keys = curve::parse_key_file(*text);
  if (keys.ok()) return keys;
  return invalid_argument("--tcp-key", path + ": " + keys.error().to_string());
}

Result<curve::AllowList> read_clients(const std::string& path) {
  for (const std::string& warning : config::warnings_of_writers(path)) {
    spdlog::warn("--tcp-clients: {}", warning);
  }
  const auto text = read_text_file(path, kListBytesMax);
  if (!text.ok()) return Error{text.error().code, "--tcp-clients", text.error().to_string()};
  auto list = curve::AllowList::parse(*text);
  if (!list.ok()) {
    return invalid_argument("--tcp-clients",
                            path + ": " + list.error().field + ": " + list.error().message);
  }
  return list;
}

// ZeroMQ binds later, on the gateway's thread; this finds out whether the address is taken.
Status check_address(const std::string& address) {
  const auto free = HttpListener::open(address);
  if (free.ok()) return {};
  const Error& error = free.error();
  const std::string what = error.code == ErrorCode::kInvalidArgument ? "" : error.field + ": ";
  return Error{error.code, "--tcp", what + error.message};
}

}  // namespace

Result<CurveDoor> open_tcp_door(const DaemonOptions& options,
                                std::shared_ptr<const ServiceStart> start) {
  ASSIGN_OR_RETURN(const curve::KeyPair keys, read_key(options.tcp_key_file));
  ASSIGN_OR_RETURN(curve::AllowList list, read_clients(options.tcp_clients_file));
  if (list.empty()) {
    return invalid_argument("--tcp-clients",
                            options.tcp_clients_file + " has no client: see cascadectl key allow");
  }
  RETURN_IF_ERROR(check_address(options.tcp_address));
  CurveDoor door = {std::move(start), "tcp://" + options.tcp_address, keys.secret_key,
                    std::make_shared<Live<curve::AllowList>>()};
  door.clients->set(std::move(list));
  return door;
}

Status reload_tcp_clients(const CurveDoor& door, const std::string& file) {
  ASSIGN_OR_RETURN(curve::AllowList list, read_clients(file));
  if (list.empty()) spdlog::warn("{} has no client any more: nobody may use TCP", file);
  door.clients->set(std::move(list));
  return {};
}

}  // namespace cascade
