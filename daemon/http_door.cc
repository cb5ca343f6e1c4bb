// Puts --http and its related options into effect.
#include "daemon/http_door.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "base/text_file.h"
#include "config/file_writers.h"

namespace cascade {
namespace {

constexpr size_t kKeysFileBytesMax = size_t{1} << 20;

Result<http::ApiKeys> read_keys(const std::string& path) {
  if (path.empty()) return http::ApiKeys();
  const auto text = read_text_file(path, kKeysFileBytesMax);
  if (!text.ok()) {
    return Error{text.error().code, "--http-keys",
                 text.error().field + ": " + text.error().message};
  }
  auto keys = http::ApiKeys::parse(*text);
  if (!keys.ok()) {
    return invalid_argument("--http-keys",
                            path + ": " + keys.error().field + ": " + keys.error().message);
  }
  return keys;
}

void warn_of_writers(const std::string& file) {
  if (file.empty()) return;
  for (const std::string& warning : config::warnings_of_writers(file)) {
    spdlog::warn("--http-keys: {}", warning);
  }
}

// An inherited socket replaces the address; there may be only one inherited socket. Takes ownership
// of all of them.
Result<HttpListener> open_listener(const std::string& address, const std::vector<int>& inherited) {
  if (inherited.size() > 1) {
    for (const int descriptor : inherited) ::close(descriptor);
    return invalid_argument("LISTEN_FDS", "has " + std::to_string(inherited.size()) +
                                              " sockets for HTTP; only one is allowed");
  }
  if (!inherited.empty()) return HttpListener::adopt(inherited.front());
  auto listener = HttpListener::open(address);
  if (listener.ok()) return listener;
  // The message does not name an address that cannot be bound, so this adds it; a malformed address
  // is in the message already.
  const Error& error = listener.error();
  const std::string what = error.code == ErrorCode::kInvalidArgument ? "" : error.field + ": ";
  return Error{error.code, "--http", what + error.message};
}

}  // namespace

Result<std::unique_ptr<HttpDoor>> HttpDoor::open(const DaemonOptions& options,
                                                 std::vector<int> inherited, size_t connections_max,
                                                 ZmqContext& context,
                                                 std::shared_ptr<const ServiceStart> start) {
  if (options.http_address.empty() && inherited.empty()) return std::unique_ptr<HttpDoor>();
  HttpOptions http_options;
  http_options.limits.connections_max = connections_max;
  auto keys = read_keys(options.http_keys_file);
  warn_of_writers(options.http_keys_file);
  if (keys.ok() && keys->are_asked() && keys->empty()) {
    keys = invalid_argument("--http-keys",
                            options.http_keys_file + " has no key: see cascadectl key new");
  }
  auto listener = open_listener(options.http_address, inherited);
  if (!keys.ok()) return keys.error();
  if (!listener.ok()) return listener.error();
  if (!listener->is_local() && !keys->are_asked()) {
    return invalid_argument(
        "--http-keys", "is needed: " + listener->address() + " can be reached from other machines");
  }
  http_options.start = std::move(start);
  http_options.keys->set(*std::move(keys));
  const std::set<std::string> origins(options.http_origins.begin(), options.http_origins.end());
  if (origins.contains("*") && !listener->is_local()) {
    return invalid_argument("--http-origin",
                            "* is allowed only with addresses of this machine; name the sites");
  }
  http_options.hosts = http::host_rules({options.http_hosts.begin(), options.http_hosts.end()},
                                        /*any_address=*/!listener->is_local(), origins);
  http_options.model_aliases = options.http_model_aliases;
  spdlog::info("HTTP at {}{}", listener->is_unix() ? "" : "http://", listener->address());
  return std::unique_ptr<HttpDoor>(
      new HttpDoor(context, *std::move(listener), std::move(http_options)));
}

size_t HttpDoor::count_key_tenants(const DaemonOptions& options) {
  const auto keys = read_keys(options.http_keys_file);
  return keys.ok() ? keys->tenant_count() : 0;
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
  options_.on_serving = [this] {
    const std::lock_guard lock(mutex_);
    if (on_serving_) on_serving_();
  };
  supervisor_.start("http", [this](uint64_t incarnation) {
    run_http(context_, listener_, options_, incarnation);
  });
}

void HttpDoor::when_serving(std::function<void()> on_serving) {
  const std::lock_guard lock(mutex_);
  on_serving_ = std::move(on_serving);
}

Status HttpDoor::reload_keys(const std::string& file) {
  ASSIGN_OR_RETURN(http::ApiKeys keys, read_keys(file));
  warn_of_writers(file);
  if (!keys.are_asked() && !listener_.is_local()) {
    return invalid_argument(
        "--http-keys", "is needed: " + listener_.address() + " can be reached from other machines");
  }
  if (!keys.are_asked() && options_.keys->get()->are_asked()) {
    return invalid_argument("--http-keys", "a restart is needed to serve without keys");
  }
  if (keys.are_asked() && keys.empty()) {
    spdlog::warn("{} has no keys any more: nobody may use HTTP", file);
  }
  options_.keys->set(std::move(keys));
  return {};
}

HttpDoor::~HttpDoor() {
  supervisor_.stop_restarting();
  context_.end_binding();
  supervisor_.join();
}

}  // namespace cascade
