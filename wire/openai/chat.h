// POST /v1/chat/completions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wire/messages.h"
#include "wire/openai/answer_stream.h"
#include "wire/openai/reply.h"
#include "wire/openai/tools.h"

namespace cascade::openai {

struct ChatCall {
  wire::GenerateRequest request;
  std::string model;  // empty: not named
  bool include_usage = false;
  bool tools = false;
  bool parallel_tool_calls = true;
  std::string grammar_param;  // where request.grammar comes from
};

// Errors: the field is the param.
Result<ChatCall> decode_chat(std::string_view body);

// The body of an answer that is not streamed. `pieces`: see encode_logprobs(); only looked at if
// the request asked for log-probabilities.
std::string encode_chat(const ReplyContext& context, const ChatCall& call, const wire::Final& final,
                        std::span<const std::string> pieces);

class ChatStream : public AnswerStream {
 public:
  ChatStream(ReplyContext context, const ChatCall& call);
  std::string begin() override;
  std::string delta(const wire::Delta& delta) override;
  std::string end(const wire::Final& final, std::span<const std::string> pieces) override;
  std::string fail(const ApiError& error) override;

 private:
  std::string chunk(OrderedJson delta, const OrderedJson& finish = nullptr,
                    OrderedJson logprobs = nullptr, OrderedJson timings = nullptr);
  std::string parts(const std::vector<AnswerPart>& parts);

  const ReplyContext context_;
  const bool include_usage_;
  const bool tools_;
  const bool logprobs_;
  ToolCallParser parser_;
  int64_t calls_ = 0;
};

}  // namespace cascade::openai
