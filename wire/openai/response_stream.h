// The events of a response that is streamed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/openai/answer_stream.h"
#include "wire/openai/responses.h"

namespace cascade::openai {

class ResponseStream : public AnswerStream {
 public:
  // context.id is the response's id if the response is not stored; otherwise the daemon gives the
  // id.
  ResponseStream(ReplyContext context, const ResponseCall& call);
  void accept(const wire::Accepted& accepted) override;
  std::string begin() override;
  std::string delta(size_t choice, const wire::Delta& delta) override;
  std::string end(size_t choice, const Answer& answer) override;
  std::string done() override { return ""; }
  std::string fail(const ApiError& error) override;

 private:
  enum class Open { kNothing, kReasoning, kMessage };
  std::string event(const char* type, OrderedJson members);
  OrderedJson place(const std::string& item) const;
  std::string parts(const std::vector<AnswerPart>& parts);
  std::string text(const std::string& piece, Open kind);
  std::string open(Open kind);
  std::string close(const OrderedJson& logprobs = nullptr, bool cut = false);
  std::string call(const ToolCall& call);

  OrderedJson echo_;
  const bool tools_;
  const bool parallel_;
  const bool logprobs_;
  std::optional<ToolCallParser> parser_;
  int64_t sequence_ = 0;
  Open open_ = Open::kNothing;
  std::string item_id_;  // of the item that is open
  std::string text_;     // the open item's text so far
  OrderedJson output_ = OrderedJson::array();
};

}  // namespace cascade::openai
