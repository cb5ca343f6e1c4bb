// Chat completions and completions, whole and streamed.
#include <spdlog/spdlog.h>

#include <chrono>

#include "actors/http/answers.h"
#include "actors/http/api.h"
#include "base/random.h"
#include "wire/http/sse.h"
#include "wire/openai/chat.h"
#include "wire/openai/completions.h"
#include "wire/openai/constraint.h"
#include "wire/openai/generation_fields.h"

namespace cascade {
namespace {

using openai::ApiError;

// A stream that has been silent for this long gets a comment: proxies end connections that look
// dead.
constexpr std::chrono::seconds kPingAfter{15};

ApiError stopping() {
  return openai::api_error({ErrorCode::kUnavailable, "", "the daemon stops; the answer was cut"},
                           1000);
}

// Errors of the daemon name its own fields; this renames them to the client's.
ApiError with_param(ApiError error, const Generation& generation) {
  if (error.param.starts_with("grammar")) {
    return openai::grammar_error(std::move(error), generation.grammar_param);
  }
  const std::string field = openai::prompt_param_of(error.param, generation.prompt_param);
  const std::string param = openai::param_of(field, generation.grammar_param);
  return param == error.param ? error : openai::renamed(std::move(error), param);
}

bool ends_choice(const wire::Message& message) {
  return std::holds_alternative<wire::Final>(message) ||
         std::holds_alternative<wire::ErrorReply>(message);
}

// Returns the error to send if `message`, the last of a generation, is not an answer for the
// client; nullopt if it is one.
std::optional<ApiError> no_answer(const wire::Message& message, const Generation& generation) {
  if (auto error = problem<wire::Final>(message)) return with_param(*std::move(error), generation);
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

// Counts generations that will be cancelled because nobody waits for them any more.
void Api::count_cancelled(size_t generations) {
  for (size_t i = 0; i < generations; ++i) {
    metrics_.count_failure(std::string(to_string(ErrorCode::kCancelled)));
  }
}

// Names the ignored tools in a header, for clients that ignore members that they do not know.
void Api::name_ignored_tools(HttpCall& call, const OrderedJson& ignored) {
  if (ignored.empty()) return;
  call.connection.add_header("X-Cascade-Ignored-Tools", openai::ignored_tools_header(ignored));
}

// The texts of the tokens that have log-probabilities; nullopt if the client has left.
Task<std::optional<Api::TokenTexts>> Api::token_texts_of(Exchange& exchange,
                                                         const wire::Final& final, bool goes_on) {
  std::vector<wire::DetokenizeRequest> requests = openai::token_text_requests(final, goes_on);
  TokenTexts texts;
  for (wire::DetokenizeRequest& request : requests) {
    const size_t count = request.token_ids.size();
    std::optional<wire::Message> answer = co_await exchange.call(std::move(request));
    if (!answer) co_return std::nullopt;
    auto* reply = std::get_if<wire::DetokenizeReply>(&*answer);
    const size_t asked = texts.size() + count;
    // If the daemon cannot answer now, the texts are left out.
    if (reply == nullptr || !openai::append_texts(std::move(*reply), count, texts)) {
      texts.resize(asked);
    }
  }
  co_return texts;
}

Task<bool> Api::chat(HttpCall& call) {
  const auto decoded = openai::decode_chat(std::exchange(call.request.body, {}));
  if (!decoded.ok()) {
    const bool sent = co_await fail(call, openai::api_error(decoded.error()));
    co_return sent;
  }
  if (const auto wrong = choose_model(call, decoded->model)) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  name_ignored_tools(call, decoded->ignored_tools);
  Choices choices(link_, call.tenant, call.model, openai::choices_of(decoded->request, decoded->n));
  const WatchedExchange watched(call.connection, choices);
  openai::ChatStream stream(context(call, random_id("chatcmpl")), *decoded);
  const Generation generation = {decoded->request.stream, decoded->request.logprobs,
                                 wire::goes_on_with_text(decoded->request), decoded->grammar_param,
                                 "messages"};
  const auto encode = [&](std::span<const openai::Answer> answers) {
    return openai::encode_chat(stream.context(), *decoded, answers);
  };
  const bool sent = co_await answer_generation(call, choices, generation, stream, encode);
  co_return sent;
}

// The texts of prompts that are to be repeated; nullopt if the client has left.
Task<std::optional<Api::Echoes>> Api::echoes_of(HttpCall& call,
                                                const openai::CompletionCall& completion) {
  Echoes echoes;
  if (!completion.echo) co_return echoes;
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  for (const openai::Prompt& prompt : completion.prompts) {
    echoes.texts.push_back(prompt.text);
    if (prompt.token_ids.empty()) continue;
    wire::Message request = wire::DetokenizeRequest{prompt.token_ids};
    std::optional<wire::Message> answer = co_await exchange.call(std::move(request));
    if (!answer) co_return std::nullopt;
    if (auto wrong = problem<wire::DetokenizeReply>(*answer)) {
      echoes.error = openai::renamed(*std::move(wrong), "prompt");
      break;
    }
    echoes.texts.back() = std::get<wire::DetokenizeReply>(*std::move(answer)).text;
  }
  co_return echoes;
}

Task<bool> Api::complete(HttpCall& call) {
  const auto decoded = openai::decode_completion(std::exchange(call.request.body, {}));
  std::optional<ApiError> wrong;
  if (!decoded.ok()) wrong = openai::api_error(decoded.error());
  if (!wrong) wrong = choose_model(call, decoded->model);
  std::optional<Echoes> echoes = Echoes();
  if (!wrong) echoes = co_await echoes_of(call, *decoded);
  if (!echoes) co_return false;
  if (!wrong) wrong = echoes->error;
  if (wrong) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  Choices choices(link_, call.tenant, call.model, openai::requests_of(*decoded));
  const WatchedExchange watched(call.connection, choices);
  openai::CompletionStream stream(context(call, random_id("cmpl")), *decoded, echoes->texts);
  const Generation generation = {decoded->request.stream, decoded->request.logprobs,
                                 /*goes_on=*/true, decoded->grammar_param, "prompt"};
  const auto encode = [&](std::span<const openai::Answer> answers) {
    return openai::encode_completion(stream.context(), *decoded, echoes->texts, answers);
  };
  const bool sent = co_await answer_generation(call, choices, generation, stream, encode);
  co_return sent;
}

// The answer of a choice that has ended well; nullopt if the client has left.
Task<std::optional<openai::Answer>> Api::answer_of(Choices& choices, Choices::News news,
                                                   const Generation& generation) {
  openai::Answer answer = {std::get<wire::Final>(std::move(news.message))};
  if (!generation.logprobs) co_return answer;
  std::optional<TokenTexts> texts =
      co_await token_texts_of(choices.exchange(news.choice), answer.final, generation.goes_on);
  if (!texts) co_return std::nullopt;
  answer.token_texts = *std::move(texts);
  co_return answer;
}

// Errors that come before the first sign of an answer are HTTP errors, streamed or not.
Task<bool> Api::answer_generation(HttpCall& call, Choices& choices, const Generation& generation,
                                  openai::AnswerStream& stream, const EncodeAnswers& encode) {
  std::vector<openai::Answer> answers(choices.size());
  while (choices.ended() < choices.size()) {
    std::optional<Choices::News> news = co_await choices.next();
    if (!news) {
      count_cancelled(choices.open());
      co_return false;
    }
    if (const auto* accepted = std::get_if<wire::Accepted>(&news->message)) {
      stream.accept(*accepted);
      continue;
    }
    const bool ended = ends_choice(news->message);
    if (const auto wrong = ended ? no_answer(news->message, generation) : std::nullopt) {
      count(news->message);
      count_cancelled(choices.open());
      const bool sent = co_await fail(call, *wrong);
      co_return sent;
    }
    if (generation.stream) {
      const bool sent =
          co_await stream_answers(call, choices, generation, stream, *std::move(news));
      co_return sent;
    }
    if (!ended) continue;
    count(news->message);
    const size_t choice = news->choice;
    std::optional<openai::Answer> answer =
        co_await answer_of(choices, *std::move(news), generation);
    if (!answer) co_return false;
    answers[choice] = *std::move(answer);
  }
  const bool sent = co_await send(call, encode(answers));
  co_return sent;
}

// The events to send for `news`; nullopt if the client has left. An error sets `failed`.
Task<std::optional<std::string>> Api::events_of(Choices& choices, const Generation& generation,
                                                openai::AnswerStream& stream, Choices::News news,
                                                bool& failed) {
  if (const auto* delta = std::get_if<wire::Delta>(&news.message)) {
    co_return stream.delta(news.choice, *delta);
  }
  if (!ends_choice(news.message)) co_return std::string();
  count(news.message);
  if (const auto wrong = no_answer(news.message, generation)) {
    failed = true;
    co_return stream.fail(*wrong);
  }
  const size_t choice = news.choice;
  const std::optional<openai::Answer> answer =
      co_await answer_of(choices, std::move(news), generation);
  if (!answer) co_return std::nullopt;
  std::string events = stream.end(choice, *answer);
  if (choices.ended() == choices.size()) events += stream.done();
  co_return events;
}

Task<bool> Api::stream_answers(HttpCall& call, Choices& choices, const Generation& generation,
                               openai::AnswerStream& stream, Choices::News news) {
  HttpReply head;
  head.type = "text/event-stream; charset=utf-8";
  head.headers = {
      {"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}, {"X-Request-Id", call.name}};
  metrics_.count_reply(head.status);
  bool sent = co_await call.connection.begin_stream(head);
  std::string events = stream.begin();
  auto last_sent = Connection::Clock::now();
  bool failed = false;
  while (sent) {
    std::optional<std::string> more =
        co_await events_of(choices, generation, stream, std::move(news), failed);
    if (!more) break;
    events += *more;
    const auto now = Connection::Clock::now();
    if (events.empty() && now - last_sent >= kPingAfter) events = http::kSsePing;
    if (!events.empty()) last_sent = now;
    sent = co_await call.connection.stream(events);
    events.clear();
    if (!sent) break;
    if (failed || choices.ended() == choices.size()) {
      count_cancelled(choices.open());
      sent = co_await call.connection.end_stream();
      co_return sent;
    }
    std::optional<Choices::News> next = co_await choices.next();
    if (!next) break;
    news = *std::move(next);
  }
  count_cancelled(choices.open());
  co_return false;
}

}  // namespace cascade
