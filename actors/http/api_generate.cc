// Chat completions and completions, whole and streamed.
#include <spdlog/spdlog.h>

#include <chrono>

#include "actors/http/answers.h"
#include "actors/http/api.h"
#include "base/random.h"
#include "wire/http/sse.h"
#include "wire/openai/chat.h"
#include "wire/openai/completions.h"
#include "wire/openai/generation_fields.h"

namespace cascade {
namespace {

using openai::ApiError;

// A stream that is silent for so long gets a comment: proxies end what looks dead.
constexpr std::chrono::seconds kPingAfter{15};

// Of one DetokenizeRequest; a likely token may be asked for at every place of a long answer.
constexpr size_t kTokensAtOnce = 4096;

ApiError stopping() {
  return openai::api_error({ErrorCode::kUnavailable, "", "the daemon stops; the answer was cut"},
                           1000);
}

// Errors of the daemon name its fields.
ApiError with_param(ApiError error, const std::string& grammar_param) {
  const std::string param = openai::param_of(error.param, grammar_param);
  if (param == error.param) return error;
  error.message.replace(0, error.param.size(), param);
  error.param = param;
  return error;
}

// Why `message` is not the end of an answer that the client can have.
std::optional<ApiError> no_answer(const wire::Message& message, const std::string& grammar_param) {
  if (auto error = problem<wire::Final>(message)) {
    return with_param(*std::move(error), grammar_param);
  }
  if (std::get<wire::Final>(message).finish_reason == "cancelled") return stopping();
  return std::nullopt;
}

}  // namespace

void Api::count(const wire::Message& message) {
  if (const auto* final = std::get_if<wire::Final>(&message)) {
    metrics_.count_generation(*final);
  } else if (const auto* failed = std::get_if<wire::ErrorReply>(&message)) {
    metrics_.count_failure(std::string(to_string(failed->error.code)));
  }
}

// Its client went away before its end.
void Api::count_cancelled() {
  metrics_.count_failure(std::string(to_string(ErrorCode::kCancelled)));
}

// The texts of the tokens that log-probabilities are of; nullopt if the client has gone.
Task<std::optional<Api::Pieces>> Api::pieces_of(Exchange& exchange, const wire::Final& final) {
  const std::vector<int32_t> tokens = openai::logprob_tokens(final);
  Pieces pieces;
  while (pieces.size() < tokens.size()) {
    const size_t count = std::min(kTokensAtOnce, tokens.size() - pieces.size());
    const auto begin = tokens.begin() + static_cast<ptrdiff_t>(pieces.size());
    wire::DetokenizeRequest request;
    request.token_ids.assign(begin, begin + static_cast<ptrdiff_t>(count));
    request.skip_special = true;
    request.pieces = true;
    std::optional<wire::Message> answer = co_await exchange.call(std::move(request));
    if (!answer) co_return std::nullopt;
    auto* reply = std::get_if<wire::DetokenizeReply>(&*answer);
    // A daemon that cannot answer now leaves texts out.
    if (reply == nullptr || reply->pieces.size() != count) {
      pieces.resize(tokens.size());
      break;
    }
    for (std::string& piece : reply->pieces) pieces.push_back(std::move(piece));
  }
  co_return pieces;
}

Task<bool> Api::chat(HttpCall& call) {
  const auto decoded = openai::decode_chat(std::exchange(call.request.body, {}));
  if (!decoded.ok()) {
    const bool sent = co_await fail(call, openai::api_error(decoded.error()));
    co_return sent;
  }
  if (const auto wrong = check_model(decoded->model)) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  Exchange exchange(link_, call.tenant);
  const WatchedExchange watched(call.connection, exchange);
  exchange.send(decoded->request);
  const openai::ReplyContext about = context(random_id("chatcmpl"));
  openai::ChatStream stream(about, *decoded);
  const auto encode = [&](const wire::Final& final, std::span<const std::string> pieces) {
    return openai::encode_chat(about, *decoded, final, pieces);
  };
  const bool sent = co_await answer_generation(call, exchange, decoded->request,
                                               decoded->grammar_param, stream, encode);
  co_return sent;
}

Task<bool> Api::complete(HttpCall& call) {
  const auto decoded = openai::decode_completion(std::exchange(call.request.body, {}));
  if (!decoded.ok()) {
    const bool sent = co_await fail(call, openai::api_error(decoded.error()));
    co_return sent;
  }
  if (const auto wrong = check_model(decoded->model)) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  Exchange exchange(link_, call.tenant);
  const WatchedExchange watched(call.connection, exchange);
  exchange.send(decoded->request);
  const openai::ReplyContext about = context(random_id("cmpl"));
  openai::CompletionStream stream(about, *decoded);
  const std::string none;  // there is no grammar
  const auto encode = [&](const wire::Final& final, std::span<const std::string> pieces) {
    return openai::encode_completion(about, *decoded, final, pieces);
  };
  const bool sent = co_await answer_generation(call, exchange, decoded->request,
                                               /*grammar_param=*/none, stream, encode);
  co_return sent;
}

// Errors that come before the first sign of an answer are HTTP errors, streamed or not.
Task<bool> Api::answer_generation(HttpCall& call, Exchange& exchange,
                                  const wire::GenerateRequest& request,
                                  const std::string& grammar_param, openai::AnswerStream& stream,
                                  const EncodeFinal& encode) {
  std::optional<wire::Message> message = co_await exchange.next();
  while (message && std::holds_alternative<wire::Accepted>(*message)) {
    stream.accept(std::get<wire::Accepted>(*message));
    message = co_await exchange.next();
  }
  if (!message) {
    count_cancelled();
    co_return false;
  }
  const bool ended = std::holds_alternative<wire::Final>(*message) ||
                     std::holds_alternative<wire::ErrorReply>(*message);
  const auto wrong = ended ? no_answer(*message, grammar_param) : std::nullopt;
  if (wrong) {
    count(*message);
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  if (request.stream) {
    const bool sent =
        co_await stream_answer(call, exchange, stream, *std::move(message), request.logprobs);
    co_return sent;
  }
  count(*message);
  const wire::Final& final = std::get<wire::Final>(*message);
  Pieces pieces;
  if (request.logprobs) {
    std::optional<Pieces> found = co_await pieces_of(exchange, final);
    if (!found) co_return false;
    pieces = *std::move(found);
  }
  const bool sent = co_await send(call, encode(final, pieces));
  co_return sent;
}

Task<bool> Api::stream_answer(HttpCall& call, Exchange& exchange, openai::AnswerStream& stream,
                              wire::Message message, bool logprobs) {
  HttpReply head;
  head.type = "text/event-stream; charset=utf-8";
  head.headers = {
      {"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}, {"X-Request-Id", call.name}};
  metrics_.count_reply(head.status);
  bool sent = co_await call.connection.begin_stream(head);
  std::string events = stream.begin();
  auto last_sent = Connection::Clock::now();
  bool ended = false;
  while (sent) {
    if (const auto* delta = std::get_if<wire::Delta>(&message)) {
      events += stream.delta(*delta);
    } else if (!std::holds_alternative<wire::Progress>(message)) {
      ended = true;
      count(message);
      if (const auto wrong = no_answer(message, "")) {
        events += stream.fail(*wrong);
      } else {
        const wire::Final& final = std::get<wire::Final>(message);
        std::optional<Pieces> pieces = Pieces();
        if (logprobs) pieces = co_await pieces_of(exchange, final);
        if (!pieces) co_return false;
        events += stream.end(final, *pieces);
      }
    }
    const auto now = Connection::Clock::now();
    if (events.empty() && now - last_sent >= kPingAfter) events = http::kSsePing;
    if (!events.empty()) last_sent = now;
    sent = co_await call.connection.stream(events);
    events.clear();
    if (!sent) break;
    if (ended) {
      sent = co_await call.connection.end_stream();
      co_return sent;
    }
    std::optional<wire::Message> next = co_await exchange.next();
    if (!next) break;
    message = *std::move(next);
  }
  if (!ended) count_cancelled();
  co_return false;
}

}  // namespace cascade
