// Instructions are not kept with a response: they belong to one request.
#include "wire/openai/responses.h"

#include <algorithm>
#include <charconv>

#include "base/call_id.h"
#include "base/random.h"
#include "wire/openai/constraint.h"
#include "wire/openai/generation_fields.h"
#include "wire/openai/json_text.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

constexpr size_t kMetadataMax = 16;
constexpr size_t kMetadataBytesMax = 512;
constexpr int32_t kItemsMax = 100, kItemsDefault = 20;

void refuse_unsupported_of_responses(Fields& fields) {
  fields.refuse("background", false, "background responses are not supported");
  fields.refuse("conversation", nullptr, "use previous_response_id");
  fields.refuse("prompt", nullptr, "prompt templates are not supported");
}

// OpenAI's name for what on_overflow says, which counts if both are given.
void read_truncation(Fields& fields, ResponseCall& call) {
  const auto truncation = fields.text("truncation");
  if (truncation && *truncation != "auto" && *truncation != "disabled") {
    return fields.fail("truncation", "must be \"auto\" or \"disabled\"");
  }
  std::optional<OnOverflow>& choice = call.request.on_overflow;
  if (truncation && !choice) {
    choice = *truncation == "auto" ? OnOverflow::kDropOldest : OnOverflow::kError;
  }
  call.echo["truncation"] = leaves_out(choice.value_or(OnOverflow::kError)) ? "auto" : "disabled";
}

void read_metadata(Fields& fields, OrderedJson& echo) {
  const OrderedJson* metadata = fields.object("metadata");
  echo["metadata"] = metadata == nullptr ? OrderedJson::object() : *metadata;
  if (metadata == nullptr) return;
  if (metadata->size() > kMetadataMax) fields.fail("metadata", "has more than 16 pairs");
  for (const auto& [key, value] : metadata->items()) {
    const bool good = value.is_string() &&
                      value.get_ref<const std::string&>().size() <= kMetadataBytesMax &&
                      key.size() <= kMetadataBytesMax;
    if (!good) fields.fail("metadata", "must map strings to strings of at most 512 bytes");
  }
}

void read_reasoning(Fields& fields, ResponseCall& call) {
  OrderedJson& echo = call.echo["reasoning"];
  echo["effort"] = nullptr;
  echo["summary"] = nullptr;
  const OrderedJson* reasoning = fields.object("reasoning");
  if (reasoning == nullptr) return;
  Fields inner(*reasoning, "reasoning.");
  if (const auto effort = read_effort(inner, "effort", call.request)) echo["effort"] = *effort;
  fields.fail(inner.status());
}

AnswerFormat read_text(Fields& fields, ResponseCall& call) {
  OrderedJson plain;
  plain["format"]["type"] = "text";
  const OrderedJson* text = fields.object("text");
  call.echo["text"] = text == nullptr ? plain : *text;
  if (text == nullptr) return {};
  Fields inner(*text, "text.");
  const OrderedJson* format = inner.object("format");
  fields.fail(inner.status());
  return read_format(fields, format, "text.format", /*nested=*/false);
}

void read_answer(Fields& fields, ResponseCall& call) {
  wire::GenerateRequest& request = call.request;
  request.max_tokens = read_token_limit(fields, "max_output_tokens").value_or(0);
  const OrderedJson* tokens = fields.find("max_output_tokens");
  call.echo["max_output_tokens"] = tokens != nullptr ? *tokens : OrderedJson();
  const auto tops = fields.integer("top_logprobs", 0, wire::kTopLogprobsMax);
  if (const OrderedJson* include = fields.array("include")) {
    request.logprobs =
        std::ranges::find(*include, "message.output_text.logprobs") != include->end();
  }
  request.logprobs = request.logprobs || tops.value_or(0) > 0;
  request.top_logprobs = static_cast<int32_t>(tops.value_or(0));
  const auto number = [](const std::optional<double>& value) {
    return value ? OrderedJson(*value) : OrderedJson();
  };
  call.echo["temperature"] = number(request.sampling.temperature);
  call.echo["top_p"] = number(request.sampling.top_p);
  call.echo["top_logprobs"] = request.top_logprobs;
}

// Reads what fill_in() wrote. nullopt for anything else: clients may keep any data with their
// outputs.
std::optional<StoredResponse> read_stored(const std::string& client_data) {
  const auto parsed = parse_ordered_json(client_data, "client_data");
  if (!parsed.ok()) return std::nullopt;
  Fields fields(*parsed);
  const OrderedJson* items = fields.array("items");
  const OrderedJson* echo = fields.object("echo");
  StoredResponse stored;
  stored.previous_id = fields.text("previous").value_or("");
  stored.tools = fields.boolean("tools").value_or(false);
  stored.parallel_tool_calls = fields.boolean("parallel").value_or(true);
  const bool ours = fields.ok() && items != nullptr && echo != nullptr;
  if (!ours || !std::ranges::all_of(*items, is_item)) return std::nullopt;
  stored.items = *items;
  stored.echo = *echo;
  return stored;
}

}  // namespace

Result<ResponseCall> decode_response(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  ResponseCall call;
  call.model = fields.text("model").value_or("");
  call.instructions = fields.text("instructions").value_or("");
  call.previous_id = fields.text("previous_response_id").value_or("");
  call.store = fields.boolean("store").value_or(true);
  read_generation(fields, call.request);
  read_answer(fields, call);
  read_metadata(fields, call.echo);
  read_reasoning(fields, call);
  refuse_unsupported_of_responses(fields);
  read_truncation(fields, call);
  call.items = read_input(fields, random_id("in"), call.request);
  const ToolUse tools = read_tools(fields, /*flat=*/true, call.request);
  call.tools = tools.given;
  call.parallel_tool_calls = tools.parallel;
  call.echo["tools"] = tools.tools.is_null() ? OrderedJson::array() : tools.tools;
  call.echo["tool_choice"] = tools.choice.is_null() ? OrderedJson("auto") : tools.choice;
  call.echo["parallel_tool_calls"] = tools.parallel;
  call.ignored_tools = tools.ignored;
  if (!tools.ignored.empty()) call.echo["ignored_tools"] = tools.ignored;
  const AnswerFormat format = read_answer_format(fields, read_text(fields, call));
  call.echo["instructions"] = text_or_null(call.instructions);
  call.echo["previous_response_id"] = text_or_null(call.previous_id);
  call.echo["store"] = call.store;
  RETURN_IF_ERROR(fields.status());
  call.grammar_param = constrain(tools, format, call.request);
  return call;
}

Status fill_in(ResponseCall& call, const PastTurns& past) {
  wire::GenerateRequest& request = call.request;
  std::vector<ChatMessage>& messages = request.messages;
  if (!call.instructions.empty()) {
    messages.push_back({.role = "system", .content = call.instructions, .reasoning = {}});
  }
  request.previous_output = past.base;
  for (const PastTurn& turn : past.turns) {
    append_items(turn.items, messages);
    messages.push_back(turn.answer);
  }
  append_items(call.items, messages);
  request.retain_output = call.store;
  if (call.store) {
    for (const PastTurn& turn : past.turns) {
      // Only this many parents are kept. A program that goes on from this output through another
      // API is told that there were more.
      if (request.parents.size() < kParentIdsMax) request.parents.push_back(turn.output_id);
    }
    OrderedJson kept;
    kept["items"] = call.items;
    if (!call.previous_id.empty()) kept["previous"] = call.previous_id;
    kept["tools"] = call.tools;
    kept["parallel"] = call.parallel_tool_calls;
    kept["echo"] = call.echo;
    kept["echo"].erase("instructions");
    kept["echo"].erase("tools");
    kept["echo"].erase("ignored_tools");
    request.client_data = json_text(kept);
    if (request.client_data.size() > wire::kClientDataBytesMax) {
      return invalid_argument("input", "a response of over " +
                                           std::to_string(wire::kClientDataBytesMax >> 10) +
                                           " KiB of input cannot be stored: set store to false");
    }
  }
  // The list of missing chunks is not kept with the response: the next request finds out for
  // itself.
  for (const wire::MissingChunk& missing : past.missing) {
    call.echo["missing"].push_back({{"id", missing.id}, {"reason", missing.reason}});
  }
  Status checked = check_generation(request, call.grammar_param);
  if (checked.ok()) return {};
  const bool of_input = checked.error().field.starts_with("messages");
  return Error{checked.error().code, of_input ? "input" : checked.error().field,
               checked.error().message};
}

StoredResponse stored_response(const Chunk& output) {
  if (auto ours = read_stored(output.client_data)) return *std::move(ours);
  StoredResponse stored;
  stored.by_this_api = false;
  const std::string id = response_id_of(output.id);
  OrderedJson part;
  part["type"] = "input_text";
  part["text"] = output.query_text;
  OrderedJson item;
  item["type"] = "message";
  item["id"] = item_id("msg", id, 0);
  item["status"] = "completed";
  item["role"] = "user";
  item["content"] = OrderedJson::array({std::move(part)});
  stored.items = OrderedJson::array({std::move(item)});
  stored.echo = OrderedJson::object();
  return stored;
}

OrderedJson output_items(const std::string& response_id, const std::string& text,
                         const std::string& reasoning, bool tools, bool parallel,
                         const OrderedJson& logprobs, const std::string& finish_reason) {
  OrderedJson output = OrderedJson::array();
  bool cut = finish_reason != "stop";
  if (!reasoning.empty()) {
    output.push_back(reasoning_item(item_id("rs", response_id, 0), reasoning));
  }
  std::vector<AnswerPart> parts = {{text, {}}};
  if (tools) {
    ToolCallParser parser(parallel, call_id_prefix(response_id));
    parts = parser.push(text);
    for (AnswerPart& part : parser.finish(cut)) parts.push_back(std::move(part));
    // The items before the call that was left out are complete.
    cut = cut && !parser.left_out_call();
  }
  std::string pending;
  const auto add_text = [&] {
    if (pending.empty() && !(output.empty() && parts.size() <= 1)) return;
    const std::string id = item_id("msg", response_id, output.size());
    output.push_back(message_item(id, std::exchange(pending, {}), logprobs));
  };
  for (const AnswerPart& part : parts) {
    pending += part.text;
    for (const ToolCall& call : part.calls) {
      if (!pending.empty()) add_text();
      output.push_back(call_item(item_id("fc", response_id, output.size()), call));
    }
  }
  if (!pending.empty()) add_text();
  if (cut && !output.empty() && output.back()["type"] != "function_call") {
    output.back()["status"] = "incomplete";
  }
  return output;
}

const char* response_status(const std::string& finish_reason, bool half_call) {
  return finish_reason == "stop" && !half_call ? "completed" : "incomplete";
}

OrderedJson encode_response_usage(const wire::Usage& usage) {
  OrderedJson result;
  result["input_tokens"] = usage.prompt_tokens;
  result["input_tokens_details"]["cached_tokens"] = usage.reused_tokens;
  result["output_tokens"] = usage.completion_tokens;
  result["output_tokens_details"]["reasoning_tokens"] = usage.reasoning_tokens;
  result["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  return result;
}

OrderedJson response_object(const ReplyContext& context, const OrderedJson& echo,
                            const std::string& status, OrderedJson output, OrderedJson usage) {
  OrderedJson result;
  result["id"] = context.id;
  result["object"] = "response";
  result["created_at"] = context.created;
  result["status"] = status;
  result["background"] = false;
  result["error"] = nullptr;
  result["incomplete_details"] = nullptr;
  if (status == "incomplete") result["incomplete_details"]["reason"] = "max_output_tokens";
  result["model"] = context.model;
  result["instructions"] = nullptr;
  result["output"] = std::move(output);
  result["truncation"] = "disabled";
  for (const auto& [key, value] : echo.items()) result[key] = value;
  result["usage"] = std::move(usage);
  return result;
}

std::string encode_response(const ReplyContext& context, const ResponseCall& call,
                            const Answer& answer) {
  const wire::Final& final = answer.final;
  OrderedJson logprobs;
  if (call.request.logprobs) logprobs = encode_logprobs(final, answer.token_texts)["content"];
  OrderedJson echo = call.echo;
  if (final.output_chunk_id.empty()) echo["store"] = false;
  const bool half_call = call.tools && ends_in_half_call(final.text, is_cut(final));
  OrderedJson object =
      response_object(context, echo, response_status(final.finish_reason, half_call),
                      output_items(context.id, final.text, final.reasoning, call.tools,
                                   call.parallel_tool_calls, logprobs, final.finish_reason),
                      encode_response_usage(final.usage));
  add_work(object, final);
  return json_text(object);
}

std::string encode_stored(const ReplyContext& context, const Chunk& output,
                          const std::string& reasoning) {
  const StoredResponse stored = stored_response(output);
  const std::string& finish_reason = output.generation.finish_reason;
  const bool half_call = stored.tools && ends_in_half_call(output.text, finish_reason != "stop");
  OrderedJson object =
      response_object(context, stored.echo, response_status(finish_reason, half_call),
                      output_items(context.id, output.text, reasoning, stored.tools,
                                   stored.parallel_tool_calls, nullptr, finish_reason),
                      nullptr);
  const GenerationRecord& made = output.generation;
  add_left_out(object, {made.left_out, made.retrieved, made.summarised});
  return json_text(object);
}

OrderedJson items_of(const Chunk& output, const std::string& reasoning) {
  const StoredResponse stored = stored_response(output);
  OrderedJson items = stored.items;
  const std::string id = response_id_of(output.id);
  for (OrderedJson& item :
       output_items(id, output.text, reasoning, stored.tools, stored.parallel_tool_calls, nullptr,
                    output.generation.finish_reason)) {
    items.push_back(std::move(item));
  }
  return items;
}

Result<std::string> encode_input_items(
    const Chunk& output, const std::vector<std::pair<std::string, std::string>>& query) {
  OrderedJson items = stored_response(output).items;
  int32_t limit = kItemsDefault;
  bool descending = true;
  std::string after;
  for (const auto& [key, value] : query) {
    if (key == "after") after = value;
    if (key == "order") {
      if (value != "asc" && value != "desc")
        return invalid_argument("order", "must be asc or desc");
      descending = value == "desc";
    }
    if (key == "limit") {
      const char* const end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, limit);
      if (error != std::errc() || stop != end || limit < 1 || limit > kItemsMax) {
        return invalid_argument("limit", "must be a whole number between 1 and 100");
      }
    }
  }
  if (descending) std::reverse(items.begin(), items.end());
  auto begin = items.begin();
  if (!after.empty()) {
    begin = std::ranges::find_if(
        items, [&](const OrderedJson& item) { return item.value("id", "") == after; });
    if (begin == items.end()) return not_found("after", "no item has this id");
    ++begin;
  }
  const auto left = items.end() - begin;
  const auto count = std::min<ptrdiff_t>(left, limit);
  OrderedJson result;
  result["object"] = "list";
  OrderedJson data = OrderedJson::array();
  for (auto item = begin; item != begin + count; ++item) data.push_back(*item);
  const OrderedJson first = data.empty() ? OrderedJson() : data.front()["id"];
  const OrderedJson last = data.empty() ? OrderedJson() : data.back()["id"];
  result["data"] = std::move(data);
  result["first_id"] = first;
  result["last_id"] = last;
  result["has_more"] = count < left;
  return json_text(result);
}

}  // namespace cascade::openai
