// What --http and its companions mean.
#include "daemon/http_door.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>

#include "base/file.h"

namespace cascade {
namespace {

constexpr size_t kKeysFileBytesMax = size_t{1} << 20;

Result<http::ApiKeys> read_keys(const std::string& path) {
  if (path.empty()) return http::ApiKeys();
  const auto text = read_file(path, kKeysFileBytesMax);
  if (!text.ok()) {
    return Error{text.error().code, "--http-keys", text.error().to_string()};
  }
  auto keys = http::ApiKeys::parse(*text);
  if (!keys.ok()) {
    return invalid_argument("--http-keys",
                            path + ": " + keys.error().field + ": " + keys.error().message);
  }
  if (keys->empty()) {
    return invalid_argument("--http-keys", path + " has no key: see cascadectl key new");
  }
  return keys;
}

}  // namespace

Result<std::unique_ptr<HttpDoor>> HttpDoor::open(const DaemonOptions& options,
                                                 ZmqContext& context) {
  if (options.http_address.empty()) return std::unique_ptr<HttpDoor>();
  HttpOptions http_options;
  ASSIGN_OR_RETURN(http_options.keys, read_keys(options.http_keys_file));
  auto listener = HttpListener::open(options.http_address);
  if (!listener.ok()) {
    return Error{listener.error().code, "--http", listener.error().message};
  }
  http_options.hosts = http::host_rules({options.http_hosts.begin(), options.http_hosts.end()},
                                        /*any_address=*/!listener->is_local());
  spdlog::info("HTTP at {}{}", listener->is_unix() ? "" : "http://", listener->address());
  return std::unique_ptr<HttpDoor>(
      new HttpDoor(context, *std::move(listener), std::move(http_options)));
}

HttpDoor::HttpDoor(ZmqContext& context, HttpListener listener, HttpOptions options)
    : context_(context),
      listener_(std::move(listener)),
      options_(std::move(options)),
      supervisor_(system_clock(), {}, [this](const std::string&, const std::string& why) {
        spdlog::critical("the HTTP gateway failed too often ({}); the daemon stops", why);
        failed_ = true;
        ::kill(::getpid(), SIGTERM);
      }) {
  supervisor_.start("http", [this](uint64_t incarnation) {
    run_http(context_, listener_, options_, incarnation);
  });
}

HttpDoor::~HttpDoor() {
  supervisor_.stop_restarting();
  context_.end_binding();
  supervisor_.join();
}

}  // namespace cascade
