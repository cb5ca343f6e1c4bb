// POST /v1/chat/completions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/messages.h"
#include "wire/openai/answer_stream.h"
#include "wire/openai/reply.h"
#include "wire/openai/tools.h"

namespace cascade::openai {

struct ChatCall {
  wire::GenerateRequest request;
  int64_t n = 1;      // the number of answers
  std::string begun;  // the text that each answer continues; shown before the answer
  std::string model;  // empty: not named
  bool include_usage = false;
  bool tools = false;
  bool parallel_tool_calls = true;
  std::string grammar_param;  // the field that request.grammar comes from
  OrderedJson ignored_tools;  // see ToolUse
};

// In errors, the field is the param.
Result<ChatCall> decode_chat(std::string_view body);

// The body of a reply that is not streamed: `n` answers.
std::string encode_chat(const ReplyContext& context, const ChatCall& call,
                        std::span<const Answer> answers);

class ChatStream : public AnswerStream {
 public:
  ChatStream(ReplyContext context, const ChatCall& call);
  std::string begin() override;
  std::string delta(size_t choice, const wire::Delta& delta) override;
  std::string end(size_t choice, const Answer& answer) override;
  std::string done() override;
  std::string fail(const ApiError& error) override;

 private:
  struct Choice {
    ToolCallParser parser;
    int64_t calls = 0;
  };
  OrderedJson chunk(size_t choice, OrderedJson delta) const;
  std::string event(size_t choice, OrderedJson delta) const;
  std::string parts(size_t choice, const std::vector<AnswerPart>& parts);

  const std::string begun_;
  const bool include_usage_;
  const bool tools_;
  const bool logprobs_;
  const OrderedJson ignored_tools_;
  std::vector<Choice> choices_;
  UsageSum usage_;
};

}  // namespace cascade::openai
