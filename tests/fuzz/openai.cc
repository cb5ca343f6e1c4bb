// Bodies of HTTP requests, arbitrary answers of models, and the stored data of a response.
#include <algorithm>
#include <string>
#include <vector>

#include "model/calls/call_translator.h"
#include "model/harmony_reader.h"
#include "tests/fuzz/input.h"
#include "wire/frames.h"
#include "wire/openai/chat.h"
#include "wire/openai/chunk_routes.h"
#include "wire/openai/completions.h"
#include "wire/openai/response_stream.h"
#include "wire/openai/responses.h"
#include "wire/openai/text_routes.h"

namespace cascade::fuzz {
namespace {

const openai::ReplyContext kContext = {"resp_0123456789abcdef0123456789abcdef", "model", "fp", 1};

// The scheduler must be able to read the messages that it is sent.
void check_sendable(wire::Message message) {
  const auto read = wire::decode(*wire::encode({{}, std::move(message)}));
  CHECK(read.ok());
}

template <class T>
bool read_or_refuse(const Result<T>& result) {
  if (result.ok()) return true;
  check_clear(result.error());
  // This limit holds even if every repeated part of the request has to be escaped.
  constexpr size_t kShownBytesMax = 20'000;
  const std::string shown = openai::encode(openai::api_error(result.error()));
  CHECK(is_utf8(shown) && shown.size() <= kShownBytesMax);
  return false;
}

// The texts of the parts, and their calls as text.
std::string written(const std::vector<AnswerPart>& parts) {
  std::string text;
  for (const AnswerPart& part : parts) {
    text += part.text;
    for (const ToolCall& call : part.calls) text += openai::encode(call).dump();
  }
  return text;
}

// Checks that the result does not depend on how an answer is cut into pieces. `is_cut`: a limit has
// ended the answer.
void read_calls(std::string_view answer, bool is_cut) {
  ToolCallParser whole(true, "call_");
  std::vector<AnswerPart> parts = whole.push(answer);
  std::ranges::move(whole.finish(is_cut), std::back_inserter(parts));
  const std::string at_once = written(parts);
  CHECK(is_utf8(at_once));
  ToolCallParser pieces(true, "call_");
  std::string in_pieces;
  for (size_t begin = 0, size = 1; begin < answer.size(); begin += size, size = size % 7 + 1) {
    in_pieces += written(pieces.push(answer.substr(begin, size)));
  }
  in_pieces += written(pieces.finish(is_cut));
  CHECK(in_pieces == at_once);
}

constexpr std::array<CallForm, 9> kChangedForms = {
    CallForm::kQwenTags, CallForm::kGlmTags,  CallForm::kGemma,
    CallForm::kMistral,  CallForm::kGranite3, CallForm::kOlmo,
    CallForm::kLfm,      CallForm::kLlama3,   CallForm::kLlama4};

// Checks the same of calls that become calls of the common form.
void change_calls(CallForm form, std::string_view answer, bool is_cut) {
  const auto joined = [](const std::vector<CallTranslator::Piece>& pieces) {
    std::string text;
    for (const CallTranslator::Piece& piece : pieces) text += piece.text;
    return text;
  };
  const ToolTypes types(R"([{"function":{"name":"f","parameters":{"properties":{"a":{
      "type":"string"}}}}}])");
  CallTranslator whole(call_marks(form), types);
  std::string at_once = joined(whole.push(answer));
  at_once += joined(whole.finish(!is_cut));
  CHECK(is_utf8(at_once));
  CallTranslator pieces(call_marks(form), types);
  std::string in_pieces;
  for (size_t begin = 0, size = 1; begin < answer.size(); begin += size, size = size % 7 + 1) {
    in_pieces += joined(pieces.push(answer.substr(begin, size)));
  }
  in_pieces += joined(pieces.finish(!is_cut));
  CHECK(in_pieces == at_once);
}

// Answers a call with `answer`.
void stream_answer(openai::AnswerStream& stream, const std::string& answer) {
  std::string events = stream.begin();
  for (const bool reasoning : {true, false}) {
    wire::Delta delta;
    delta.text = answer;
    delta.reasoning = reasoning;
    events += stream.delta(0, delta);
  }
  wire::Final final;
  final.text = answer;
  final.reasoning = answer;
  final.finish_reason = "stop";
  events += stream.end(0, {final});
  events += stream.done();
  CHECK(is_utf8(events));
}

bool read_response(std::string_view body, const std::string& answer) {
  auto call = openai::decode_response(body);
  if (!read_or_refuse(call)) return false;
  const Status filled = openai::fill_in(*call, {});
  if (!filled.ok()) {
    check_clear(filled.error());
    return false;
  }
  check_sendable(call->request);
  openai::ResponseStream stream(kContext, *call);
  stream_answer(stream, answer);
  return true;
}

bool read_chat(std::string_view body, const std::string& answer) {
  const auto call = openai::decode_chat(body);
  if (!read_or_refuse(call)) return false;
  check_sendable(call->request);
  openai::ChatStream stream(kContext, *call);
  stream_answer(stream, answer);
  return true;
}

bool read_completion(std::string_view body, const std::string& answer) {
  const auto call = openai::decode_completion(body);
  if (!read_or_refuse(call)) return false;
  for (wire::GenerateRequest& request : openai::requests_of(*call)) {
    check_sendable(std::move(request));
  }
  openai::CompletionStream stream(kContext, *call, {});
  stream_answer(stream, answer);
  return true;
}

// Reads an output whose client_data was written by another program.
void read_stored(const std::string& text) {
  Chunk output;
  output.id = "output_0123456789abcdef0123456789abcdef";
  output.type = ChunkType::kOutput;
  output.text = text;
  output.query_text = "Hi";
  output.client_data = text;
  (void)openai::encode_stored(kContext, output, text);
  (void)is_ok(openai::encode_input_items(output, {{"order", "asc"}, {"limit", "2"}}));
  (void)is_ok(openai::encode_input_items(output, {{"after", "msg_0123456789abcdef_0"}}));
  openai::ResponseCall next;
  next.items = OrderedJson::array();
  next.echo = OrderedJson::object();
  ChatMessage answer = {.role = "assistant", .content = text, .reasoning = {}};
  (void)openai::fill_in(
      next, {"", {{output.id, openai::stored_response(output).items, std::move(answer)}}});
}

}  // namespace

bool read_openai(Bytes input) {
  const std::string_view body = text_of(input);
  // The daemon's texts are UTF-8.
  const std::string answer = utf8_replace_malformed(body);
  bool any = read_chat(body, answer);
  any = read_completion(body, answer) || any;
  any = read_response(body, answer) || any;
  any = read_or_refuse(openai::decode_tokenize(body)) || any;
  any = read_or_refuse(openai::decode_detokenize(body)) || any;
  any = read_or_refuse(openai::decode_chunk_put(body)) || any;
  // These functions accept nearly every object.
  (void)read_or_refuse(openai::decode_apply_template(body));
  (void)read_or_refuse(openai::decode_chunk_update("chunk_0", body));
  for (const bool is_cut : {false, true}) {
    read_calls(answer, is_cut);
    for (const CallForm form : kChangedForms) {
      change_calls(form, answer, is_cut);
    }
  }
  CHECK(is_utf8(harmony_thoughts(answer)));
  read_stored(answer);
  return any;
}

}  // namespace cascade::fuzz
