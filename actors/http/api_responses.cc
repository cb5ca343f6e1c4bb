// Responses: conversations that the daemon remembers.
#include <algorithm>
#include <set>

#include "actors/http/answers.h"
#include "actors/http/api.h"
#include "actors/http/request_parser.h"
#include "base/call_id.h"
#include "base/random.h"
#include "model/conversation.h"
#include "model/harmony_reader.h"
#include "model/thought_text.h"
#include "wire/openai/chunk_routes.h"
#include "wire/openai/response_stream.h"
#include "wire/openai/responses.h"
#include "wire/request_rules.h"

namespace cascade {
namespace {

using openai::ApiError;

// The largest number of turns of one conversation: each is looked up.
constexpr size_t kTurnsMax = 2000;

// Makes the error name `param`, a field of the response's request: the daemon's own fields are
// different ones.
ApiError about(ApiError error, const char* param) {
  if (!error.param.empty() && error.message.starts_with(error.param + ": ")) {
    return openai::renamed(std::move(error), param);
  }
  error.message = std::string(param) + ": " + error.message;
  error.param = param;
  return error;
}

ApiError no_response(const std::string& id, const char* param) {
  return about(openai::api_error(not_found("", "there is no response \"" + id.substr(0, 64) + '"')),
               param);
}

constexpr int kGoneStatus = 404;

// Returns the id of the response that comes before the output `id` in `outputs`, which are oldest
// first; empty if none is known.
std::string before_of(const std::vector<std::string>& outputs, const std::string& id) {
  const auto found = std::ranges::find(outputs, id);
  if (found == outputs.end() || found == outputs.begin()) return "";
  return openai::response_id_of(*std::prev(found));
}

}  // namespace

// The output that is called `id`; nullopt if the client has left.
Task<std::optional<Api::FoundOutput>> Api::find_output(Exchange& exchange, std::string id,
                                                       const char* param) {
  const wire::ChunkGet get = {openai::output_id_of(id)};
  FoundOutput found;
  // Elsewhere the beginning of an id can name a chunk; a response needs its whole id.
  if (!wire::check_request(get).ok()) {
    found.error = no_response(id, param);
    co_return found;
  }
  wire::Message request = get;
  std::optional<wire::Message> answer = co_await exchange.call(std::move(request));
  if (!answer) co_return std::nullopt;
  if (auto wrong = problem<wire::ChunkReply>(*answer)) {
    found.error = wrong->status == 404 || wrong->status == 400 ? no_response(id, param)
                                                               : about(*std::move(wrong), param);
    co_return found;
  }
  found.output = std::get<wire::ChunkReply>(*std::move(answer)).chunk;
  if (found.output.type != ChunkType::kOutput || found.output.id != get.id) {
    found.error = no_response(id, param);
  }
  co_return found;
}

// The thoughts of an output; empty if there are none; nullopt if the client has left.
Task<std::optional<std::string>> Api::reasoning_of(Exchange& exchange, const Chunk& output) {
  if (is_harmony_text(output.raw_text)) co_return harmony_thoughts(output.raw_text);
  const auto size = static_cast<int32_t>(output.token_ids.size());
  std::string thoughts;
  for (const ThinkSpan& span : output.think_spans) {
    // The think tokens around the thoughts are left out. Whether the first token is one is seen in
    // the text: the prompt may have opened the thoughts.
    const int32_t begin = span.begin == 0 ? 0 : std::clamp(span.begin + 1, 0, size);
    const int32_t end = std::clamp(span.closed ? span.end - 1 : span.end, begin, size);
    if (begin == end) continue;
    wire::DetokenizeRequest request;
    request.skip_special = true;
    request.token_ids.assign(output.token_ids.begin() + begin, output.token_ids.begin() + end);
    wire::Message message = std::move(request);
    const std::optional<wire::Message> answer = co_await exchange.call(std::move(message));
    if (!answer) co_return std::nullopt;
    const auto* reply = std::get_if<wire::DetokenizeReply>(&*answer);
    if (reply == nullptr) co_return std::string();
    const std::string_view text = thoughts_of_block(reply->text, output.raw_text);
    if (!text.empty() && !thoughts.empty()) thoughts += '\n';
    thoughts += text;
  }
  co_return thoughts;
}

// The turns before a response, oldest first. If a turn is missing, `error` is set, unless missing
// turns are to be skipped. In that case the turns before the missing one follow, as far as a later
// turn names them.
Task<std::optional<Api::Past>> Api::past_of(Exchange& exchange, std::string previous_id,
                                            bool skips_missing) {
  Past past;
  std::set<std::string> seen;
  std::vector<std::string> known;  // outputs before the oldest turn that was found, oldest first
  while (!previous_id.empty()) {
    const bool again = !seen.insert(previous_id).second;
    if (again || past.before.turns.size() >= kTurnsMax) {
      past.error = about(
          openai::api_error(invalid_argument("", "the conversation has more than 2000 turns")),
          "previous_response_id");
      break;
    }
    std::optional<FoundOutput> found =
        co_await find_output(exchange, previous_id, "previous_response_id");
    if (!found) co_return std::nullopt;
    if (found->error && skips_missing && found->error->status == kGoneStatus) {
      past.before.missing.push_back({previous_id, found->error->message});
      previous_id = before_of(known, openai::output_id_of(previous_id));
      continue;
    }
    if (found->error) {
      past.error = found->error;
      break;
    }
    const Chunk& output = found->output;
    known = output.parent_ids;
    openai::StoredResponse stored = openai::stored_response(output);
    if (!stored.by_this_api) {
      past.before.base = output.id;
      break;
    }
    // The answer is rendered like the one in the history that the daemon keeps of the turn: see
    // scheduler_retention.cc.
    ChatMessage answer = {.role = "assistant", .content = output.text, .reasoning = {}};
    if (output.think_policy == ThinkPolicy::kKeep) {
      answer.content = output.raw_text;
      answer.verbatim = true;
    } else if (calls_tool(output.text)) {
      std::optional<std::string> reasoning = co_await reasoning_of(exchange, output);
      if (!reasoning) co_return std::nullopt;
      answer.reasoning = *std::move(reasoning);
      answer.tool_call_id = call_id_prefix(output.id);
    }
    past.before.turns.push_back({output.id, std::move(stored.items), std::move(answer)});
    previous_id = stored.previous_id;
  }
  std::ranges::reverse(past.before.turns);
  co_return past;
}

// Replaces references in the input by the items of earlier responses, as long as these take no more
// than a body may. Returns the error of an item that is missing, or of items that are too large;
// nullopt if the client has left.
Task<std::optional<Api::Filled>> Api::resolve_items(Exchange& exchange,
                                                    openai::ResponseCall& response) {
  Filled result;
  std::string known;  // the output that has `items`: references to one output are adjacent
  OrderedJson items = OrderedJson::array();
  size_t lookups = 0, bytes = 0;
  for (size_t i = 0; i < response.items.size(); ++i) {
    OrderedJson& item = response.items[i];
    if (item.value("type", "") != "item_reference") continue;
    const std::string id = item.value("id", "");
    const std::string param = "input[" + std::to_string(i) + "].id";
    const std::string output_id = openai::output_id_of_item(id);
    if (output_id != known && ++lookups <= kTurnsMax) {
      std::optional<FoundOutput> found = co_await find_output(exchange, output_id, param.c_str());
      if (!found) co_return std::nullopt;
      items = OrderedJson::array();
      known = output_id;
      if (!found->error) {
        const std::optional<std::string> reasoning = co_await reasoning_of(exchange, found->output);
        if (!reasoning) co_return std::nullopt;
        items = openai::items_of(found->output, *reasoning);
      }
    }
    const auto same = [&](const OrderedJson& other) { return other.value("id", "") == id; };
    const auto found = std::ranges::find_if(items, same);
    if (output_id != known || found == items.end()) {
      result.error = about(openai::api_error(not_found(
                               "", "there is no item \"" + id.substr(0, 64) +
                                       "\"; of responses that are not stored, give items whole")),
                           param.c_str());
      co_return result;
    }
    bytes += found->dump().size();
    if (bytes > http::kBodyBytesMax) {
      result.error = about(openai::api_error(invalid_argument(
                               "", "the items that the input refers to take more than " +
                                       std::to_string(http::kBodyBytesMax) +
                                       " bytes together, the limit of a body; refer to fewer")),
                           param.c_str());
      co_return result;
    }
    item = *found;
  }
  co_return result;
}

// Fills in what came before the response. Returns the error if something is missing; nullopt if the
// client has left.
Task<std::optional<Api::Filled>> Api::fill_response(HttpCall& call,
                                                    openai::ResponseCall& response) {
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  const std::optional<Past> past = co_await past_of(
      exchange, response.previous_id, response.request.on_missing == OnMissing::kSkip);
  if (!past) co_return std::nullopt;
  Filled result = {past->error};
  if (result.error) co_return result;
  const std::optional<Filled> resolved = co_await resolve_items(exchange, response);
  if (!resolved || resolved->error) co_return resolved;
  const Status filled = openai::fill_in(response, past->before);
  if (!filled.ok()) result.error = openai::api_error(filled.error());
  co_return result;
}

Task<bool> Api::respond(HttpCall& call) {
  auto decoded = openai::decode_response(std::exchange(call.request.body, {}));
  std::optional<ApiError> wrong;
  if (!decoded.ok()) wrong = openai::api_error(decoded.error());
  if (!wrong) wrong = choose_model(call, decoded->model);
  if (!wrong) {
    const std::optional<Filled> filled = co_await fill_response(call, *decoded);
    if (!filled) co_return false;
    wrong = filled->error;
  }
  if (wrong) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  name_ignored_tools(call, decoded->ignored_tools);
  Choices choices(link_, call.tenant, call.model, {decoded->request});
  const WatchedExchange watched(call.connection, choices);
  openai::ResponseStream stream(context(call, random_id("resp")), *decoded);
  const auto encode = [&](std::span<const openai::Answer> answers) {
    const openai::Answer& answer = answers.front();
    openai::ReplyContext named = stream.context();
    const std::string& output = answer.final.output_chunk_id;
    if (!output.empty()) named.id = openai::response_id_of(output);
    return openai::encode_response(named, *decoded, answer);
  };
  const Generation generation = {decoded->request.stream, decoded->request.logprobs,
                                 wire::goes_on_with_text(decoded->request), decoded->grammar_param,
                                 "input"};
  const bool sent = co_await answer_generation(call, choices, generation, stream, encode);
  co_return sent;
}

// Answers GET of a response, or of its input items.
Task<bool> Api::get_response(HttpCall& call) {
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  std::optional<FoundOutput> found = co_await find_output(exchange, call.id, "response_id");
  if (!found) co_return false;
  std::string body;
  if (!found->error && call.action == http::Action::kListInputItems) {
    auto items = openai::encode_input_items(found->output, http::parse_query(call.request.query));
    if (!items.ok()) found->error = openai::api_error(items.error());
    if (items.ok()) body = *std::move(items);
  } else if (!found->error) {
    const std::optional<std::string> reasoning = co_await reasoning_of(exchange, found->output);
    if (!reasoning) co_return false;
    openai::ReplyContext about_it = context(call, openai::response_id_of(found->output.id));
    about_it.created = found->output.created_us / 1'000'000;
    body = openai::encode_stored(about_it, found->output, *reasoning);
  }
  if (found->error) {
    const bool sent = co_await fail(call, *found->error);
    co_return sent;
  }
  const bool sent = co_await send(call, std::move(body));
  co_return sent;
}

Task<bool> Api::delete_response(HttpCall& call) {
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  std::optional<FoundOutput> found = co_await find_output(exchange, call.id, "response_id");
  if (!found) co_return false;
  wire::ChunkReply given_up;
  if (!found->error) {
    wire::Message request = wire::ChunkDelete{found->output.id};
    const std::optional<wire::Message> answer = co_await exchange.call(std::move(request));
    if (!answer) co_return false;
    if (auto wrong = problem<wire::ChunkReply>(*answer)) {
      found->error = about(*std::move(wrong), "response_id");
    } else {
      given_up = std::get<wire::ChunkReply>(*answer);
    }
  }
  if (found->error) {
    const bool sent = co_await fail(call, *found->error);
    co_return sent;
  }
  const bool sent =
      co_await send(call, openai::encode_deleted(openai::response_id_of(found->output.id),
                                                 "response.deleted", given_up));
  co_return sent;
}

}  // namespace cascade
