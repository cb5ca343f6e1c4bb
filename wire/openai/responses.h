// POST /v1/responses, and what is kept of a response.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/messages.h"
#include "wire/openai/reply.h"
#include "wire/openai/response_items.h"

namespace cascade::openai {

struct ResponseCall {
  wire::GenerateRequest request;  // its messages are still to be filled in: see fill_in()
  std::string model;              // empty: not named
  std::string instructions;       // empty: none
  std::string previous_id;        // of a response; empty: none
  bool store = true;
  bool tools = false;
  bool parallel_tool_calls = true;
  std::string grammar_param;  // the field that request.grammar comes from
  OrderedJson items;          // the input, in its normal form
  OrderedJson echo;           // members of the response that say what was asked for
  OrderedJson ignored_tools;  // see ToolUse; `echo` has them, too, if there are any
};

// A turn that came before: what went in, and the assistant's message that came out.
struct PastTurn {
  std::string output_id;
  OrderedJson items;
  ChatMessage answer;
};

// The conversation so far. `base` is the output that ended the conversation which all turns
// continue; empty: none. It was not made through this API, so the daemon knows what it was made of.
struct PastTurns {
  std::string base;
  std::vector<PastTurn> turns;                   // oldest first
  std::vector<wire::MissingChunk> missing = {};  // turns that are gone and left out; newest first
};

// In errors, the field is the param.
Result<ResponseCall> decode_response(std::string_view body);

// Fills in the conversation and, if the response is to be stored, the data that is kept with it.
// Errors: those of decode_response(); kInvalidArgument, field "input", if the input is too large to
// keep.
Status fill_in(ResponseCall& call, const PastTurns& past);

// The data that is kept with a response's output (its client_data).
struct StoredResponse {
  bool by_this_api = true;
  OrderedJson items;        // of the input
  std::string previous_id;  // empty: none
  bool tools = false;
  bool parallel_tool_calls = true;
  OrderedJson echo;
};
// Takes any output: one that was not made by this API counts as the answer to one message of the
// user.
StoredResponse stored_response(const Chunk& output);

// The output items of an answer that ended with `finish_reason`. If the answer was cut, the last
// item is incomplete; an incomplete call is left out.
OrderedJson output_items(const std::string& response_id, const std::string& text,
                         const std::string& reasoning, bool tools, bool parallel,
                         const OrderedJson& logprobs, const std::string& finish_reason = "stop");

// The response as an object. `status`: "in_progress", "completed", "incomplete".
OrderedJson response_object(const ReplyContext& context, const OrderedJson& echo,
                            const std::string& status, OrderedJson output, OrderedJson usage);
// {"input_tokens",…}
OrderedJson encode_response_usage(const wire::Usage& usage);
// "completed", or "incomplete" if the answer was cut or an incomplete call was left out of it.
const char* response_status(const std::string& finish_reason, bool half_call = false);

// The body of an answer that is not streamed; context.id is the response's.
std::string encode_response(const ReplyContext& context, const ResponseCall& call,
                            const Answer& answer);
// The answer to GET: `reasoning` is the text of its thoughts.
std::string encode_stored(const ReplyContext& context, const Chunk& output,
                          const std::string& reasoning);

// All items of a stored response: those of its input, then those of its output. `reasoning`: as
// above.
OrderedJson items_of(const Chunk& output, const std::string& reasoning);

// The items of a stored response as a list: "limit" [1, 100] (20), "order" (desc), "after".
Result<std::string> encode_input_items(
    const Chunk& output, const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace cascade::openai
