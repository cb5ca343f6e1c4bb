// A conversation is read as chat completions read it.
#include "wire/openai/text_routes.h"

#include "base/utf8.h"
#include "wire/openai/generation_fields.h"
#include "wire/openai/json_text.h"
#include "wire/openai/messages.h"
#include "wire/openai/tools.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

constexpr std::string_view kOurs = "token_ids";

OrderedJson piece_of(const TokenText& text) {
  return is_utf8(text.bytes) ? OrderedJson(text.text) : bytes_of(text.bytes);
}

}  // namespace

Result<TokenizeCall> decode_tokenize(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  TokenizeCall call;
  const auto content = fields.text("content");
  const auto prompt = fields.text("prompt");
  if (!content && !prompt) fields.fail("content", "is missing");
  call.request.text = content ? *content : prompt.value_or("");
  call.request.beginning = fields.boolean("add_special").value_or(false);
  call.with_pieces = fields.boolean("with_pieces").value_or(false);
  fields.refuse("parse_special", false, "special tokens in texts are not recognised");
  if (fields.ok() && call.request.text.empty()) fields.fail("content", "must not be empty");
  RETURN_IF_ERROR(fields.status());
  return call;
}

std::string encode_tokens(std::span<const int32_t> tokens, std::span<const TokenText> texts,
                          int64_t context_tokens) {
  OrderedJson body;
  OrderedJson& list = body["tokens"] = OrderedJson::array();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (texts.size() != tokens.size()) {
      list.push_back(tokens[i]);
    } else {
      list.push_back({{"id", tokens[i]}, {"piece", piece_of(texts[i])}});
    }
  }
  body["count"] = tokens.size();
  body["max_model_len"] = context_tokens;
  return json_text(body);
}

Result<wire::DetokenizeRequest> decode_detokenize(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  wire::DetokenizeRequest request;
  const OrderedJson* tokens = fields.array("tokens");
  if (tokens == nullptr || tokens->empty()) fields.fail("tokens", "is missing");
  for (size_t i = 0; fields.ok() && i < tokens->size(); ++i) {
    const OrderedJson& token = (*tokens)[i];
    const bool fits =
        token.is_number_integer() && token.get<double>() >= 0 && token.get<double>() <= INT32_MAX;
    if (!fits) fields.fail("tokens[" + std::to_string(i) + "]", "must be a token id");
    if (fits) request.token_ids.push_back(token.get<int32_t>());
  }
  RETURN_IF_ERROR(fields.status());
  return request;
}

ApiError with_tokens_param(ApiError error) {
  if (error.param == "text") return renamed(std::move(error), "content");
  if (!error.param.starts_with(kOurs)) return error;
  const std::string param = "tokens" + error.param.substr(kOurs.size());
  return renamed(std::move(error), param);
}

Result<wire::ApplyTemplateRequest> decode_apply_template(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  wire::GenerateRequest read;
  read_messages(fields, "messages", read);
  read.continue_final_message = read_continuation(fields, read.messages);
  read_generation(fields, read);
  read_tools(fields, /*flat=*/false, read);
  RETURN_IF_ERROR(fields.status());
  wire::ApplyTemplateRequest request;
  request.messages = std::move(read.messages);
  request.tools = std::move(read.tools);
  request.thinking = read.thinking;
  request.reasoning_effort = std::move(read.reasoning_effort);
  request.continue_final_message = read.continue_final_message;
  RETURN_IF_ERROR(wire::check_request(request));
  return request;
}

}  // namespace cascade::openai
