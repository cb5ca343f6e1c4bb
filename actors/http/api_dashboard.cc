// The dashboard, and its requests that no other client of OpenAI's API makes.
#include "actors/http/answers.h"
#include "actors/http/api.h"
#include "actors/http/dashboard_files.h"
#include "base/tenant.h"
#include "wire/openai/status_routes.h"

namespace cascade {
namespace {

// Only the page's own style and script are loaded or run, whatever text gets into the page. The
// page talks to this server only, and no other page can frame it.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

}  // namespace

Task<bool> Api::dashboard(HttpCall& call) {
  const DashboardFile file = dashboard_file(call.request.path);
  HttpReply reply;
  reply.type = file.type;
  reply.body = file.body;
  reply.headers = {{"Content-Security-Policy", kPolicy},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cross-Origin-Resource-Policy", "same-origin"},
                   // A later daemon has another page, so browsers must ask each time.
                   {"Cache-Control", "no-cache"}};
  metrics_.count_reply(reply.status);
  const bool sent = co_await call.connection.reply(reply);
  co_return sent;
}

Task<bool> Api::status(HttpCall& call) {
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  wire::Message wanted = wire::StatusRequest{};
  const std::optional<wire::Message> status = co_await exchange.call(std::move(wanted));
  if (!status) co_return false;
  wanted = wire::StatsRequest{};
  const std::optional<wire::Message> stats = co_await exchange.call(std::move(wanted));
  if (!stats) co_return false;
  auto wrong = problem<wire::StatusReply>(*status);
  if (!wrong) wrong = problem<wire::StatsReply>(*stats);
  if (wrong) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  std::string body = openai::encode_status(call.tenant, std::get<wire::StatusReply>(*status),
                                           std::get<wire::StatsReply>(*stats),
                                           /*whole=*/call.tenant == kLocalTenant);
  const bool sent = co_await send(call, std::move(body));
  co_return sent;
}

Task<bool> Api::events(HttpCall& call) {
  auto decoded = openai::decode_event_list(http::parse_query(call.request.query));
  if (!decoded.ok()) {
    const bool sent = co_await fail(call, openai::api_error(decoded.error()));
    co_return sent;
  }
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  wire::Message wanted = *std::move(decoded);
  const std::optional<wire::Message> answer = co_await exchange.call(std::move(wanted));
  if (!answer) co_return false;
  if (const auto wrong = problem<wire::EventsReply>(*answer)) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  std::string body = openai::encode_event_list(std::get<wire::EventsReply>(*answer));
  const bool sent = co_await send(call, std::move(body));
  co_return sent;
}

}  // namespace cascade
