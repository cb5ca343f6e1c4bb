// Texts and token ids.
#include "actors/http/answers.h"
#include "actors/http/api.h"
#include "wire/openai/json_text.h"
#include "wire/openai/text_routes.h"

namespace cascade {

Task<bool> Api::tokenize(HttpCall& call) {
  auto decoded = openai::decode_tokenize(std::exchange(call.request.body, {}));
  if (!decoded.ok()) {
    const bool sent = co_await fail(call, openai::api_error(decoded.error()));
    co_return sent;
  }
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  std::optional<wire::Message> answer = co_await exchange.call(std::move(decoded->request));
  if (!answer) co_return false;
  if (auto wrong = problem<wire::TokenizeReply>(*answer)) {
    const bool sent = co_await fail(call, openai::with_tokens_param(*std::move(wrong)));
    co_return sent;
  }
  const auto tokens = std::get<wire::TokenizeReply>(*std::move(answer)).token_ids;
  TokenTexts texts;
  if (decoded->with_pieces && !tokens.empty()) {
    wire::DetokenizeRequest request;
    request.token_ids = tokens;
    request.pieces = request.piece_bytes = true;
    std::optional<wire::Message> pieces = co_await exchange.call(std::move(request));
    if (!pieces) co_return false;
    if (const auto wrong = problem<wire::DetokenizeReply>(*pieces)) {
      const bool sent = co_await fail(call, *wrong);
      co_return sent;
    }
    openai::append_texts(std::get<wire::DetokenizeReply>(*std::move(pieces)), tokens.size(), texts);
  }
  int64_t context_tokens = status_->context_tokens_max;
  if (!call.model.empty()) {
    wire::Message wanted = wire::StatusRequest{};
    answer = co_await exchange.call(std::move(wanted));
    if (!answer) co_return false;
    if (const auto wrong = problem<wire::StatusReply>(*answer)) {
      const bool sent = co_await fail(call, *wrong);
      co_return sent;
    }
    context_tokens = std::get<wire::StatusReply>(*answer).context_tokens_max;
  }
  const bool sent = co_await send(call, openai::encode_tokens(tokens, texts, context_tokens));
  co_return sent;
}

Task<bool> Api::detokenize(HttpCall& call) {
  auto decoded = openai::decode_detokenize(std::exchange(call.request.body, {}));
  if (!decoded.ok()) {
    const bool sent = co_await fail(call, openai::api_error(decoded.error()));
    co_return sent;
  }
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  const std::optional<wire::Message> answer = co_await exchange.call(*std::move(decoded));
  if (!answer) co_return false;
  if (auto wrong = problem<wire::DetokenizeReply>(*answer)) {
    const bool sent = co_await fail(call, openai::with_tokens_param(*std::move(wrong)));
    co_return sent;
  }
  OrderedJson body;
  body["content"] = std::get<wire::DetokenizeReply>(*answer).text;
  const bool sent = co_await send(call, openai::json_text(body));
  co_return sent;
}

Task<bool> Api::apply_template(HttpCall& call) {
  auto decoded = openai::decode_apply_template(std::exchange(call.request.body, {}));
  if (!decoded.ok()) {
    const bool sent = co_await fail(call, openai::api_error(decoded.error()));
    co_return sent;
  }
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  const std::optional<wire::Message> answer = co_await exchange.call(*std::move(decoded));
  if (!answer) co_return false;
  if (const auto wrong = problem<wire::ApplyTemplateReply>(*answer)) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  const auto& reply = std::get<wire::ApplyTemplateReply>(*answer);
  OrderedJson body;
  body["prompt"] = reply.prompt;
  body["count"] = reply.token_ids.size();
  const bool sent = co_await send(call, openai::json_text(body));
  co_return sent;
}

}  // namespace cascade
