// Checks who may ask, chooses the function that answers, and sends errors.
#include "actors/http/api.h"

#include <chrono>

#include "actors/http/content_coding.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/sanitized.h"
#include "base/tenant.h"
#include "wire/loading.h"
#include "wire/request_rules.h"

namespace cascade {
namespace {

using openai::ApiError;

ApiError request_error(int status, const char* code, std::string message) {
  ApiError error;
  error.status = status;
  error.type = "invalid_request_error";
  error.code = code;
  error.message = std::move(message);
  return error;
}

// The reply headers that scripts of pages may read, besides those that every page may read.
constexpr char kExposedHeaders[] =
    "X-Request-Id, X-Cascade-Ignored-Tools, Retry-After, Retry-After-Ms";
// How long a browser may use the answer to its question before it asks again: the answer changes
// only with a restart.
constexpr char kPreflightSeconds[] = "600";
constexpr size_t kOriginBytesShown = 200;

// Whether a browser asks if it may send a request that is not a simple one. Programs that send
// OPTIONS for other reasons do not name a method.
bool is_preflight(const http::Request& request) {
  return request.method == "OPTIONS" && !request.origin.empty() && !request.asked_method.empty();
}

// Returns the headers that were asked for, if `asked` is a plain list of names. Clients' libraries
// make up headers of their own, so no fixed list would have them all.
std::string allowed_headers(const std::string& asked) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_., ";
  constexpr size_t kBytesMax = 2048;
  const bool plain = !asked.empty() && asked.size() <= kBytesMax &&
                     asked.find_first_not_of(kPlain) == std::string::npos;
  return plain ? asked : "Authorization, Content-Type, X-Api-Key";
}

}  // namespace

void add_retry(HttpReply& reply, int64_t retry_after_ms) {
  if (retry_after_ms <= 0) return;
  reply.headers.emplace_back("Retry-After", std::to_string((retry_after_ms + 999) / 1000));
  reply.headers.emplace_back("Retry-After-Ms", std::to_string(retry_after_ms));
}

Api::Api(SchedulerLink& link, const HttpOptions& options)
    : link_(link),
      options_(options),
      timer_(link.io()),
      created_(system_clock().wall_us() / 1'000'000) {}

std::optional<ApiError> Api::admit(HttpCall& call, bool check_host) const {
  const http::Request& request = call.request;
  if (auto error = check_site(call, check_host)) return error;
  if (is_preflight(request)) {
    call.action = http::Action::kPreflight;
    return std::nullopt;
  }
  const http::RouteMatch match = http::find_route(request.method, request.path);
  const bool found = match.result == http::RouteMatch::Result::kFound;
  // The dashboard is the same for everybody. It asks for the data that it shows, and needs a key
  // for that.
  const bool open =
      found && (match.action == http::Action::kHealth || match.action == http::Action::kDashboard);
  call.tenant = kLocalTenant;
  const auto keys = options_.keys->get();
  if (keys->are_asked() && !open) {
    const auto tenant = keys->tenant_of(request.key);
    if (!tenant) {
      ApiError error = request_error(401, "invalid_api_key",
                                     request.key.empty() ? "an API key is needed: Authorization: "
                                                           "Bearer KEY"
                                                         : "the API key is not known");
      error.type = "authentication_error";
      return error;
    }
    call.tenant = *tenant;
    link_.add_tenant(*tenant);
  }
  if (match.result == http::RouteMatch::Result::kNoPath) {
    return request_error(404, "unknown_url", "there is no such path");
  }
  if (!found) {
    ApiError error =
        request_error(405, "method_not_allowed", "this path does not accept this method");
    error.param = match.allowed;
    return error;
  }
  if (!http::is_known_coding(request.content_encoding)) {
    return request_error(415, "unsupported_encoding",
                         std::string("the body's Content-Encoding must be one of ") +
                             http::kContentCodings + ", or none");
  }
  call.action = match.action;
  call.id = match.id;
  return std::nullopt;
}

// Checks whether the client may ask, by the name it uses for this server and by the page that asks.
std::optional<ApiError> Api::check_site(HttpCall& call, bool check_host) const {
  const http::Request& request = call.request;
  const http::HostRules& hosts = options_.hosts;
  // Every browser names the host. Health checks without a host use HTTP/1.0, and do not come from
  // pages.
  if (check_host && !request.host.empty() && !http::host_allowed(hosts, request.host)) {
    return request_error(403, "host_not_allowed",
                         "the Host header has none of this server's names; --http-host NAME adds "
                         "one");
  }
  if (request.origin.empty()) return std::nullopt;
  if (!http::origin_allowed(hosts, request.origin, request.host)) {
    const std::string origin = sanitized(request.origin.substr(0, kOriginBytesShown));
    std::string why = "pages of " + origin + " may not use this server";
    // Pages without a site, such as files, have the origin "null", which they all share.
    if (origin != "null") why += "; --http-origin " + origin + " allows them to";
    return request_error(403, "origin_not_allowed", std::move(why));
  }
  if (!http::is_shared_with(hosts, request.origin)) return std::nullopt;
  // Errors also get these headers: without them the page is not told what is wrong.
  Connection& connection = call.connection;
  connection.add_header("Access-Control-Allow-Origin", hosts.any_origin ? "*" : request.origin);
  if (!hosts.any_origin) connection.add_header("Vary", "Origin");
  connection.add_header("Access-Control-Expose-Headers", kExposedHeaders);
  return std::nullopt;
}

// This gives no page more rights: check_site() has already checked what the page may do.
Task<bool> Api::preflight(HttpCall& call) {
  const http::Request& request = call.request;
  HttpReply reply;
  reply.status = 204;
  const http::RouteMatch match = http::find_route("OPTIONS", request.path);
  const std::string methods = match.allowed.empty() ? "GET, POST" : match.allowed;
  reply.headers = {{"Access-Control-Allow-Methods", methods},
                   {"Access-Control-Allow-Headers", allowed_headers(request.asked_headers)},
                   {"Access-Control-Max-Age", kPreflightSeconds}};
  if (request.asks_private_network) {
    reply.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  }
  metrics_.count_reply(reply.status);
  const bool sent = co_await call.connection.reply(reply);
  co_return sent;
}

Task<bool> Api::answer(HttpCall& call) {
  using http::Action;
  const bool any_time = call.action == Action::kHealth || call.action == Action::kDashboard ||
                        call.action == Action::kPreflight;
  if (!any_time && !status_) {
    const std::string state = wire::loading_text(options_.start->loading());
    ApiError loading =
        openai::api_error({ErrorCode::kUnavailable, "",
                           "the daemon does not serve yet: it is " + state + "; try again"},
                          kLoadingRetryMs);
    const bool sent = co_await fail(call, loading);
    co_return sent;
  }
  bool sent = false;
  for (const auto& [key, value] : http::parse_query(call.request.query)) {
    if (key != "model" || any_time) continue;
    const auto wrong = choose_model(call, value);
    if (!wrong) continue;
    sent = co_await fail(call, *wrong);
    co_return sent;
  }
  switch (call.action) {
    case Action::kPreflight: sent = co_await preflight(call); break;
    case Action::kDashboard: sent = co_await dashboard(call); break;
    case Action::kHealth: sent = co_await health(call); break;
    case Action::kListModels:
    case Action::kGetModel: sent = co_await models(call); break;
    case Action::kChat: sent = co_await chat(call); break;
    case Action::kComplete: sent = co_await complete(call); break;
    case Action::kRespond: sent = co_await respond(call); break;
    case Action::kGetResponse:
    case Action::kListInputItems: sent = co_await get_response(call); break;
    case Action::kDeleteResponse: sent = co_await delete_response(call); break;
    case Action::kTokenize: sent = co_await tokenize(call); break;
    case Action::kDetokenize: sent = co_await detokenize(call); break;
    case Action::kApplyTemplate: sent = co_await apply_template(call); break;
    case Action::kListChunks:
    case Action::kPutChunk:
    case Action::kGetChunk:
    case Action::kUpdateChunk:
    case Action::kDeleteChunk: sent = co_await chunks(call); break;
    case Action::kMetrics: sent = co_await metrics(call); break;
    case Action::kVersion: sent = co_await version(call); break;
    case Action::kStatus: sent = co_await status(call); break;
    case Action::kListEvents: sent = co_await events(call); break;
    case Action::kEmbed: {
      ApiError error = request_error(501, "unsupported", "this model makes no embeddings");
      error.type = "not_implemented_error";
      sent = co_await fail(call, error);
      break;
    }
  }
  co_return sent;
}

Task<bool> Api::refuse(Connection& connection, const ApiError& error, const std::string& name) {
  HttpReply reply;
  reply.status = error.status;
  ApiError shown = error;
  if (error.status == 405) reply.headers.emplace_back("Allow", std::exchange(shown.param, {}));
  if (error.status == 415) reply.headers.emplace_back("Accept-Encoding", http::kContentCodings);
  if (error.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  add_retry(reply, error.retry_after_ms);
  if (!name.empty()) reply.headers.emplace_back("X-Request-Id", name);
  reply.body = openai::encode(shown);
  metrics_.count_reply(error.status);
  const bool sent = co_await connection.reply(reply);
  co_return sent;
}

Task<bool> Api::send(HttpCall& call, std::string body, int status) {
  HttpReply reply;
  reply.status = status;
  reply.body = std::move(body);
  reply.headers.emplace_back("X-Request-Id", call.name);
  metrics_.count_reply(status);
  const bool sent = co_await call.connection.reply(reply);
  co_return sent;
}

Task<bool> Api::fail(HttpCall& call, const ApiError& error) {
  const bool sent = co_await refuse(call.connection, error, call.name);
  co_return sent;
}

// Only the keeper of the models knows whether there is a model of this name.
std::optional<ApiError> Api::choose_model(HttpCall& call, const std::string& asked) const {
  if (asked.empty()) return std::nullopt;
  const auto alias = options_.model_aliases.find(asked);
  const std::string& model = alias == options_.model_aliases.end() ? asked : alias->second;
  if (is_default_model(model, status_->model)) {
    call.model.clear();
    return std::nullopt;
  }
  if (!wire::check_model_name("model", model).ok()) {
    return openai::api_error(not_found("model", "there is no such model"));
  }
  call.model = model;
  return std::nullopt;
}

openai::ReplyContext Api::context(const HttpCall& call, const std::string& id) const {
  const std::string& model = call.model.empty() ? status_->model : call.model;
  return {id, model, "", system_clock().wall_us() / 1'000'000};
}

Task<> Api::watch_status() {
  constexpr std::chrono::milliseconds kLoadingPause{50}, kPause{1000};
  while (!closed_) {
    Exchange exchange(link_, kLocalTenant);
    status_exchange_ = &exchange;
    wire::Message request = wire::StatusRequest{};
    const std::optional<wire::Message> answer = co_await exchange.call(std::move(request));
    status_exchange_ = nullptr;
    if (closed_) co_return;
    if (answer && std::holds_alternative<wire::StatusReply>(*answer)) {
      if (!std::exchange(status_, std::get<wire::StatusReply>(*answer))) options_.on_serving();
    }
    timer_.expires_after(status_ ? kPause : kLoadingPause);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

void Api::close() {
  closed_ = true;
  timer_.cancel();
  if (status_exchange_ != nullptr) status_exchange_->abandon();
}

}  // namespace cascade
