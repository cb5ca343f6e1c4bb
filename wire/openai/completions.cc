// Thoughts of a model that thinks without being asked are in a member of their own.
#include "wire/openai/completions.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "wire/http/sse.h"
#include "wire/openai/constraint.h"
#include "wire/openai/generation_fields.h"
#include "wire/openai/json_text.h"
#include "wire/openai/tools.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

using http::sse_data;

bool is_token_id(const OrderedJson& value) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= INT32_MAX;
  return value.get<int64_t>() >= 0;
}

// One prompt: a text, or token ids. The daemon checks that ids are in the vocabulary.
std::optional<Prompt> prompt_of(const OrderedJson& given) {
  if (given.is_string()) return Prompt{given.get<std::string>()};
  const bool ids = given.is_array() && !given.empty() && std::ranges::all_of(given, is_token_id);
  if (!ids) return std::nullopt;
  Prompt prompt;
  for (const OrderedJson& id : given) prompt.token_ids.push_back(id.get<int32_t>());
  return prompt;
}

constexpr char kPromptForms[] =
    "must be a string, an array of token ids, or an array of such prompts";

void read_prompts(Fields& fields, std::vector<Prompt>& prompts) {
  const OrderedJson* given = fields.find("prompt");
  if (given == nullptr) return fields.fail("prompt", "is missing");
  if (auto one = prompt_of(*given)) {
    prompts.push_back(*std::move(one));
  } else if (!given->is_array() || given->empty()) {
    return fields.fail("prompt", kPromptForms);
  } else if (given->size() > kPromptsMax) {
    return fields.fail("prompt", "has " + std::to_string(given->size()) +
                                     " prompts; the limit is " + std::to_string(kPromptsMax));
  } else {
    for (const OrderedJson& entry : *given) {
      auto prompt = prompt_of(entry);
      if (!prompt) return fields.fail("prompt", kPromptForms);
      prompts.push_back(*std::move(prompt));
    }
  }
  const auto is_empty = [](const Prompt& prompt) {
    return prompt.text.empty() && prompt.token_ids.empty();
  };
  if (std::ranges::any_of(prompts, is_empty)) fields.fail("prompt", "must not be empty");
}

// Reads how many answers to make, and whether the prompt is shown before them.
void read_choices(Fields& fields, CompletionCall& call) {
  call.n = read_choices(fields);
  if (fields.integer("best_of", 1, INT32_MAX).value_or(call.n) > call.n) {
    fields.fail(unsupported("best_of", "must not exceed n: all answers are returned"));
  }
  if (call.prompts.size() * static_cast<size_t>(call.n) > kAllChoicesMax) {
    fields.fail("n", "asks for " + std::to_string(call.n) + " answers to each of " +
                         std::to_string(call.prompts.size()) + " prompts; the limit is " +
                         std::to_string(kAllChoicesMax) + " in all");
  }
  call.echo = fields.boolean("echo").value_or(false);
  if (call.echo && call.request.logprobs) {
    fields.fail(unsupported("echo",
                            "cannot be set with logprobs: those of prompts are not "
                            "computed"));
  }
}

OrderedJson head(const ReplyContext& context) {
  OrderedJson result;
  result["id"] = context.id;
  result["object"] = "text_completion";
  result["created"] = context.created;
  result["model"] = context.model;
  result["system_fingerprint"] = context.fingerprint;
  return result;
}

OrderedJson choice(size_t index, const std::string& text, const std::string& reasoning) {
  OrderedJson result;
  result["index"] = index;
  result["text"] = text;
  if (!reasoning.empty()) result["reasoning"] = reasoning;
  result["logprobs"] = nullptr;
  result["finish_reason"] = nullptr;
  return result;
}

}  // namespace

Result<CompletionCall> decode_completion(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  CompletionCall call;
  wire::GenerateRequest& request = call.request;
  call.model = fields.text("model").value_or("");
  read_prompts(fields, call.prompts);
  read_generation(fields, request);
  request.max_tokens = read_token_limit(fields, "max_tokens").value_or(0);
  if (const auto tops = fields.integer("logprobs", 0, wire::kTopLogprobsMax)) {
    request.logprobs = true;
    request.top_logprobs = static_cast<int32_t>(*tops);
  }
  request.retain_output = fields.boolean("retain_output").value_or(false);
  if (const OrderedJson* options = fields.object("stream_options")) {
    Fields inner(*options, "stream_options.");
    call.include_usage = inner.boolean("include_usage").value_or(false);
    fields.fail(inner.status());
  }
  read_choices(fields, call);
  fields.refuse("suffix", "", "insertion is not supported");
  const AnswerFormat format = read_answer_format(fields, {});
  RETURN_IF_ERROR(fields.status());
  call.grammar_param = constrain(ToolUse(), format, request);
  RETURN_IF_ERROR(check_generation(requests_of(call).front(), call.grammar_param));
  return call;
}

std::vector<wire::GenerateRequest> requests_of(const CompletionCall& call) {
  std::vector<wire::GenerateRequest> requests;
  for (const Prompt& prompt : call.prompts) {
    wire::GenerateRequest request = call.request;
    request.prompt_token_ids = prompt.token_ids;
    if (prompt.token_ids.empty()) request.prompt = prompt.text;
    std::ranges::move(choices_of(request, call.n), std::back_inserter(requests));
  }
  return requests;
}

std::string encode_completion(const ReplyContext& context, const CompletionCall& call,
                              std::span<const std::string> echoes,
                              std::span<const Answer> answers) {
  OrderedJson result = head(context);
  OrderedJson choices = OrderedJson::array();
  for (size_t i = 0; i < answers.size(); ++i) {
    const wire::Final& final = answers[i].final;
    const size_t prompt = i / static_cast<size_t>(call.n);
    const std::string echo = echoes.empty() ? "" : echoes[prompt];
    OrderedJson one = choice(i, echo + final.text, final.reasoning);
    if (call.request.logprobs)
      one["logprobs"] = encode_text_logprobs(final, answers[i].token_texts);
    one["finish_reason"] = finish_reason(final, false);
    choices.push_back(std::move(one));
  }
  result["choices"] = std::move(choices);
  result["usage"] = encode_usage(usage_of(answers, call.n));
  add_work(result, answers);
  return json_text(result);
}

CompletionStream::CompletionStream(ReplyContext context, const CompletionCall& call,
                                   std::vector<std::string> echoes)
    : AnswerStream(std::move(context)),
      include_usage_(call.include_usage),
      logprobs_(call.request.logprobs),
      n_(static_cast<size_t>(call.n)),
      echoes_(std::move(echoes)),
      usage_(call.n) {}

std::string CompletionStream::begin() {
  std::string out;
  for (size_t i = 0; i < echoes_.size() * n_; ++i) {
    OrderedJson result = head(context_);
    result["choices"] = OrderedJson::array({choice(i, echoes_[i / n_], "")});
    out += sse_data(json_text(result));
  }
  return out;
}

std::string CompletionStream::fail(const ApiError& error) {
  return sse_data(encode(error));
}

std::string CompletionStream::delta(size_t index, const wire::Delta& delta) {
  OrderedJson result = head(context_);
  OrderedJson one = delta.reasoning ? choice(index, "", delta.text) : choice(index, delta.text, "");
  result["choices"] = OrderedJson::array({std::move(one)});
  return sse_data(json_text(result));
}

std::string CompletionStream::end(size_t index, const Answer& answer) {
  OrderedJson result = head(context_);
  OrderedJson one = choice(index, "", "");
  if (logprobs_) one["logprobs"] = encode_text_logprobs(answer.final, answer.token_texts);
  one["finish_reason"] = finish_reason(answer.final, false);
  result["choices"] = OrderedJson::array({std::move(one)});
  add_prompt_facts(result, answer.final);
  usage_.add(index, answer.final.usage);
  return sse_data(json_text(result));
}

std::string CompletionStream::done() {
  std::string out;
  if (include_usage_) {
    OrderedJson last = head(context_);
    last["choices"] = OrderedJson::array();
    last["usage"] = encode_usage(usage_.usage());
    out += sse_data(json_text(last));
  }
  return out + sse_data("[DONE]");
}

}  // namespace cascade::openai
