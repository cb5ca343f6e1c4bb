// The routes for the daemon's status.
#include "actors/http/answers.h"
#include "actors/http/api.h"
#include "base/tenant.h"
#include "wire/loading.h"
#include "wire/openai/json_text.h"

namespace cascade {
namespace {

using openai::ApiError;

OrderedJson health_error(const char* message) {
  OrderedJson body;
  body["error"]["code"] = 503;
  body["error"]["message"] = message;
  body["error"]["type"] = "unavailable_error";
  return body;
}

}  // namespace

// Answers as llama.cpp's server does, and adds the progress of the load.
Task<bool> Api::health(HttpCall& call) {
  OrderedJson body;
  HttpReply reply;
  reply.headers.emplace_back("X-Request-Id", call.name);
  if (!status_) {
    reply.status = 503;
    add_retry(reply, kLoadingRetryMs);
    body = health_error("Loading model");
    const wire::Loading loading = options_.start->loading();
    body["status"] = "loading";
    if (const auto percent = wire::percent_of(loading)) body["percent"] = *percent;
    body["loaded_bytes"] = loading.done_bytes;
    body["total_bytes"] = loading.total_bytes;
  } else if (status_->state != "serving") {
    reply.status = 503;
    body = health_error("Stopping");
    body["status"] = "stopping";
  } else {
    body["status"] = "ok";
  }
  reply.body = openai::json_text(body);
  metrics_.count_reply(reply.status);
  const bool sent = co_await call.connection.reply(reply);
  co_return sent;
}

// The names that requests may use for the model: its name, and its aliases.
std::vector<std::string> Api::names_of(const wire::ModelInfo& model) const {
  std::vector<std::string> names = {model.name};
  for (const auto& [alias, name] : options_.model_aliases) {
    const bool of_it = name == model.name || (model.is_default && name == "default");
    if (of_it) names.push_back(alias);
  }
  return names;
}

Task<bool> Api::models(HttpCall& call) {
  Exchange exchange(link_, call.tenant);
  const WatchedExchange watched(call.connection, exchange);
  wire::Message wanted = wire::ModelListRequest{};
  const std::optional<wire::Message> answer = co_await exchange.call(std::move(wanted));
  if (!answer) co_return false;
  if (const auto wrong = problem<wire::ModelListReply>(*answer)) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  const auto& models = std::get<wire::ModelListReply>(*answer).models;
  OrderedJson list = OrderedJson::array();
  for (const wire::ModelInfo& model : models) {
    for (const std::string& name : names_of(model)) {
      OrderedJson entry = openai::encode_model(model, *status_, created_);
      if (name != model.name) entry["root"] = std::exchange(entry["id"], name);
      const bool wanted_one = name == call.id || (call.id == "default" && model.is_default);
      if (call.action == http::Action::kGetModel && wanted_one) {
        const bool sent = co_await send(call, openai::json_text(entry));
        co_return sent;
      }
      list.push_back(std::move(entry));
    }
  }
  if (call.action == http::Action::kGetModel) {
    const bool sent =
        co_await fail(call, openai::api_error(not_found("model", "there is no such model")));
    co_return sent;
  }
  OrderedJson body;
  body["object"] = "list";
  body["data"] = std::move(list);
  const bool sent = co_await send(call, openai::json_text(body));
  co_return sent;
}

Task<bool> Api::version(HttpCall& call) {
  OrderedJson body;
  body["version"] = status_->version;
  body["system_fingerprint"] = status_->fingerprint;
  const bool sent = co_await send(call, openai::json_text(body));
  co_return sent;
}

// Metrics are about all tenants together, so only the tenant of the daemon's owner may see them.
Task<bool> Api::metrics(HttpCall& call) {
  if (call.tenant != kLocalTenant) {
    ApiError error;
    error.status = 403;
    error.type = "permission_error";
    error.code = "forbidden";
    error.message = "only keys of the tenant \"local\" may read metrics";
    const bool sent = co_await fail(call, error);
    co_return sent;
  }
  Exchange exchange(link_, call.tenant);
  const WatchedExchange watched(call.connection, exchange);
  wire::Message wanted = wire::StatusRequest{};
  std::optional<wire::Message> answer = co_await exchange.call(std::move(wanted));
  if (!answer) co_return false;
  if (const auto* status = std::get_if<wire::StatusReply>(&*answer)) status_ = *status;
  wanted = wire::StatsRequest{};
  answer = co_await exchange.call(std::move(wanted));
  if (!answer) co_return false;
  std::optional<wire::StatsReply> stats;
  if (const auto* reply = std::get_if<wire::StatsReply>(&*answer)) stats = *reply;
  HttpReply reply;
  reply.type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = metrics_.text(status_, stats, connections_);
  metrics_.count_reply(reply.status);
  const bool sent = co_await call.connection.reply(reply);
  co_return sent;
}

}  // namespace cascade
