// One item is open at a time: thoughts, text, calls, in the order in which they come.
#include "wire/openai/response_stream.h"

#include "base/call_id.h"
#include "wire/http/sse.h"
#include "wire/openai/json_text.h"

namespace cascade::openai {
namespace {

OrderedJson part_of(bool reasoning, const std::string& text, const OrderedJson& logprobs) {
  OrderedJson part;
  part["type"] = reasoning ? "reasoning_text" : "output_text";
  part["text"] = text;
  if (reasoning) return part;
  part["annotations"] = OrderedJson::array();
  part["logprobs"] = logprobs.is_null() ? OrderedJson::array() : logprobs;
  return part;
}

}  // namespace

ResponseStream::ResponseStream(ReplyContext context, const ResponseCall& call)
    : AnswerStream(std::move(context)),
      echo_(call.echo),
      tools_(call.tools),
      parallel_(call.parallel_tool_calls),
      logprobs_(call.request.logprobs) {}

void ResponseStream::accept(const wire::Accepted& accepted) {
  AnswerStream::accept(accepted);
  if (!accepted.output_id.empty()) context_.id = response_id_of(accepted.output_id);
}

std::string ResponseStream::event(const char* type, OrderedJson members) {
  OrderedJson event;
  event["type"] = type;
  event["sequence_number"] = sequence_++;
  for (auto& [key, value] : members.items()) event[key] = std::move(value);
  return http::sse_event(type, json_text(event));
}

// The place in the response to which an event belongs.
OrderedJson ResponseStream::place(const std::string& item) const {
  OrderedJson members;
  members["item_id"] = item;
  members["output_index"] = output_.size();
  return members;
}

std::string ResponseStream::begin() {
  OrderedJson members;
  members["response"] =
      response_object(context_, echo_, "in_progress", OrderedJson::array(), nullptr);
  std::string out = event("response.created", members);
  return out += event("response.in_progress", std::move(members));
}

// A response has one choice.
std::string ResponseStream::delta(size_t, const wire::Delta& delta) {
  if (delta.text.empty()) return "";
  if (delta.reasoning) return text(delta.text, Open::kReasoning);
  if (!tools_) return text(delta.text, Open::kMessage);
  if (!parser_) parser_.emplace(parallel_, call_id_prefix(context_.id));
  return parts(parser_->push(delta.text));
}

std::string ResponseStream::parts(const std::vector<AnswerPart>& parts) {
  std::string out;
  for (const AnswerPart& part : parts) {
    if (!part.text.empty()) out += text(part.text, Open::kMessage);
    for (const ToolCall& made : part.calls) out += call(made);
  }
  return out;
}

std::string ResponseStream::text(const std::string& piece, Open kind) {
  std::string out = open(kind);
  text_ += piece;
  OrderedJson members = place(item_id_);
  members["content_index"] = 0;
  members["delta"] = piece;
  if (kind == Open::kReasoning) return out + event("response.reasoning_text.delta", members);
  members["logprobs"] = OrderedJson::array();
  return out + event("response.output_text.delta", members);
}

std::string ResponseStream::open(Open kind) {
  if (open_ == kind) return "";
  std::string out = close();
  open_ = kind;
  const bool reasoning = kind == Open::kReasoning;
  item_id_ = item_id(reasoning ? "rs" : "msg", context_.id, output_.size());
  OrderedJson item = reasoning ? reasoning_item(item_id_, "") : message_item(item_id_, "", nullptr);
  item["status"] = "in_progress";
  item["content"] = OrderedJson::array();
  OrderedJson added;
  added["output_index"] = output_.size();
  added["item"] = std::move(item);
  out += event("response.output_item.added", std::move(added));
  OrderedJson members = place(item_id_);
  members["content_index"] = 0;
  members["part"] = part_of(reasoning, "", nullptr);
  return out + event("response.content_part.added", std::move(members));
}

std::string ResponseStream::close(const OrderedJson& logprobs, bool cut) {
  if (open_ == Open::kNothing) return "";
  const bool reasoning = std::exchange(open_, Open::kNothing) == Open::kReasoning;
  const std::string text = std::exchange(text_, {});
  OrderedJson members = place(item_id_);
  members["content_index"] = 0;
  OrderedJson with_part = members;
  members["text"] = text;
  if (!reasoning) members["logprobs"] = part_of(false, "", logprobs)["logprobs"];
  std::string out = event(reasoning ? "response.reasoning_text.done" : "response.output_text.done",
                          std::move(members));
  with_part["part"] = part_of(reasoning, text, logprobs);
  out += event("response.content_part.done", std::move(with_part));
  OrderedJson done;
  done["output_index"] = output_.size();
  done["item"] =
      reasoning ? reasoning_item(item_id_, text) : message_item(item_id_, text, logprobs);
  if (cut) done["item"]["status"] = "incomplete";
  output_.push_back(done["item"]);
  return out + event("response.output_item.done", std::move(done));
}

std::string ResponseStream::call(const ToolCall& call) {
  std::string out = close();
  const std::string id = item_id("fc", context_.id, output_.size());
  const OrderedJson item = call_item(id, call);
  OrderedJson added;
  added["output_index"] = output_.size();
  added["item"] = item;
  added["item"]["status"] = "in_progress";
  added["item"]["arguments"] = "";
  out += event("response.output_item.added", std::move(added));
  OrderedJson members = place(id);
  members["delta"] = call.arguments;
  out += event("response.function_call_arguments.delta", std::move(members));
  members = place(id);
  members["name"] = call.name;
  members["arguments"] = call.arguments;
  out += event("response.function_call_arguments.done", std::move(members));
  OrderedJson done;
  done["output_index"] = output_.size();
  done["item"] = item;
  output_.push_back(item);
  return out + event("response.output_item.done", std::move(done));
}

std::string ResponseStream::end(size_t, const Answer& answer) {
  const wire::Final& final = answer.final;
  const bool cut = is_cut(final);
  std::string out = parser_ ? parts(parser_->finish(cut)) : "";
  const bool half_call = parser_ && parser_->left_out_call();
  OrderedJson logprobs;
  if (logprobs_) logprobs = encode_logprobs(final, answer.token_texts)["content"];
  out += close(logprobs, cut && !half_call);
  if (final.output_chunk_id.empty()) echo_["store"] = false;
  const std::string status = response_status(final.finish_reason, half_call);
  OrderedJson members;
  members["response"] = response_object(context_, echo_, status, std::move(output_),
                                        encode_response_usage(final.usage));
  add_work(members["response"], final);
  return out + event(status == "completed" ? "response.completed" : "response.incomplete",
                     std::move(members));
}

std::string ResponseStream::fail(const ApiError& error) {
  OrderedJson members;
  members["code"] = error.code;
  members["message"] = error.message;
  members["param"] = text_or_null(error.param);
  return event("error", std::move(members));
}

}  // namespace cascade::openai
