// The HTTP gateway's answers to each route.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/http/choices.h"
#include "actors/http/connection.h"
#include "actors/http/http_metrics.h"
#include "actors/http/http_options.h"
#include "actors/http/scheduler_link.h"
#include "wire/conversation_rules.h"
#include "wire/http/routes.h"
#include "wire/openai/answer_stream.h"
#include "wire/openai/completions.h"
#include "wire/openai/reply.h"
#include "wire/openai/responses.h"

namespace cascade {

// A request that is being answered.
struct HttpCall {
  Connection& connection;
  http::Request request;
  http::Action action = http::Action::kHealth;
  std::string id;      // from the path
  std::string tenant;  // the tenant of its key
  std::string model;   // the model that it is for; empty: the default model
  std::string name;    // "req_" and 32 hexadecimal digits; the client is told it
};

// How a generation is answered, whatever the API.
struct Generation {
  bool stream = false;
  bool logprobs = false;
  bool goes_on = false;  // see wire::goes_on_with_text()
  // The client's names for the fields that errors of the daemon can be about: the field that the
  // grammar comes from (empty: there is no grammar), and the field that has the prompt.
  std::string grammar_param;
  std::string prompt_param;  // "messages", "prompt" or "input"
};

// Adds the headers that tell a client when to ask again: Retry-After in whole seconds, as HTTP
// defines it, and Retry-After-Ms, which OpenAI's clients look for first. Adds nothing for 0.
void add_retry(HttpReply& reply, int64_t retry_after_ms);

// One thread. Outlives every call.
class Api {
 public:
  Api(SchedulerLink& link, const HttpOptions& options);

  // Checks from the head of a request (its host, key and route) whether it is to be answered.
  // Returns the error if not; otherwise fills in the call, without its body.
  std::optional<openai::ApiError> admit(HttpCall& call, bool check_host) const;
  // Answers the call. False: the connection cannot be used any more.
  Task<bool> answer(HttpCall& call);
  Task<bool> refuse(Connection& connection, const openai::ApiError& error,
                    const std::string& name = "");

  // Keeps asking for the daemon's status; returns after close().
  Task<> watch_status();
  void close();
  // Sets the number of open connections, for the metrics.
  void set_connections(size_t count) { connections_ = count; }

 private:
  using TokenTexts = std::vector<openai::TokenText>;

  // api.cc
  std::optional<openai::ApiError> check_site(HttpCall& call, bool check_host) const;
  Task<bool> preflight(HttpCall& call);
  Task<bool> send(HttpCall& call, std::string body, int status = 200);
  Task<bool> fail(HttpCall& call, const openai::ApiError& error);
  // Chooses the model of this name or alias for the call, unless the name is empty. Returns the
  // error of a name that no model can have.
  std::optional<openai::ApiError> choose_model(HttpCall& call, const std::string& asked) const;
  // Without the fingerprint, which comes with wire::Accepted.
  openai::ReplyContext context(const HttpCall& call, const std::string& id) const;

  // api_generate.cc
  Task<bool> chat(HttpCall& call);
  Task<bool> complete(HttpCall& call);
  struct Echoes {
    std::vector<std::string> texts;         // of the prompts; empty: answers do not repeat them
    std::optional<openai::ApiError> error;  // set: a prompt has no text
  };
  Task<std::optional<Echoes>> echoes_of(HttpCall& call, const openai::CompletionCall& completion);
  // Answers with the outcomes of all choices. Precondition: the connection watches `choices`.
  using EncodeAnswers = std::function<std::string(std::span<const openai::Answer>)>;
  Task<bool> answer_generation(HttpCall& call, Choices& choices, const Generation& generation,
                               openai::AnswerStream& stream, const EncodeAnswers& encode);
  // Does the same for a streamed answer. `news` is the first message that is not an Accepted.
  Task<bool> stream_answers(HttpCall& call, Choices& choices, const Generation& generation,
                            openai::AnswerStream& stream, Choices::News news);
  Task<std::optional<std::string>> events_of(Choices& choices, const Generation& generation,
                                             openai::AnswerStream& stream, Choices::News news,
                                             bool& failed);
  Task<std::optional<openai::Answer>> answer_of(Choices& choices, Choices::News news,
                                                const Generation& generation);
  Task<std::optional<TokenTexts>> token_texts_of(Exchange& exchange, const wire::Final& final,
                                                 bool goes_on);
  static void name_ignored_tools(HttpCall& call, const OrderedJson& ignored);
  void count(const wire::Message& message);
  void count_cancelled(size_t generations);

  // api_responses.cc
  struct FoundOutput {
    Chunk output;
    std::optional<openai::ApiError> error;  // set: it was not found
  };
  struct Past {
    openai::PastTurns before;
    std::optional<openai::ApiError> error;
  };
  struct Filled {
    std::optional<openai::ApiError> error;
  };
  Task<bool> respond(HttpCall& call);
  Task<std::optional<Filled>> resolve_items(Exchange& exchange, openai::ResponseCall& response);
  Task<std::optional<Filled>> fill_response(HttpCall& call, openai::ResponseCall& response);
  Task<bool> get_response(HttpCall& call);
  Task<bool> delete_response(HttpCall& call);
  Task<std::optional<FoundOutput>> find_output(Exchange& exchange, std::string id,
                                               const char* param);
  Task<std::optional<std::string>> reasoning_of(Exchange& exchange, const Chunk& output);
  Task<std::optional<Past>> past_of(Exchange& exchange, std::string previous_id,
                                    bool skips_missing);

  // api_text.cc
  Task<bool> tokenize(HttpCall& call);
  Task<bool> detokenize(HttpCall& call);
  Task<bool> apply_template(HttpCall& call);

  // api_chunks.cc
  Task<bool> chunks(HttpCall& call);
  static Result<wire::Message> decode_chunk_call(HttpCall& call);

  // api_dashboard.cc
  Task<bool> dashboard(HttpCall& call);
  Task<bool> status(HttpCall& call);
  Task<bool> events(HttpCall& call);

  // api_status.cc
  Task<bool> health(HttpCall& call);
  Task<bool> models(HttpCall& call);
  std::vector<std::string> names_of(const wire::ModelInfo& model) const;
  Task<bool> version(HttpCall& call);
  Task<bool> metrics(HttpCall& call);

  SchedulerLink& link_;
  const HttpOptions& options_;
  HttpMetrics metrics_;
  std::optional<wire::StatusReply> status_;  // the latest that was received
  asio::steady_timer timer_;
  Exchange* status_exchange_ = nullptr;  // the one that watch_status() uses
  bool closed_ = false;
  size_t connections_ = 0;
  const int64_t created_;
};

}  // namespace cascade
