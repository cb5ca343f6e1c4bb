// Each limit and rule of the format, one by one, with the field that its error names.
#include <gtest/gtest.h>

#include "wire/field_writer.h"
#include "wire/frames.h"
#include "wire/request_rules.h"
#include "wire/value_tree.h"

namespace cascade::wire {
namespace {

// Frames of the message type of M with the given body and arrays.
template <class M>
Frames frames_of(std::string body, std::vector<Frame> arrays = {}) {
  Frames frames = *encode({{}, M{}});
  frames.resize(3);
  frames[2] = std::move(body);
  frames.insert(frames.end(), arrays.begin(), arrays.end());
  return frames;
}

std::string map_of(std::initializer_list<std::pair<std::string_view, std::string>> pairs) {
  std::string body;
  pack_map_size(body, static_cast<uint32_t>(pairs.size()));
  for (const auto& [name, value] : pairs) {
    pack_string(body, name);
    body += value;
  }
  return body;
}

std::string packed(std::string_view text) {
  std::string out;
  pack_string(out, text);
  return out;
}

std::string error_of_frames(const Frames& frames) {
  const Result<Envelope> result = decode(frames);
  return result.ok() ? "none" : result.error().to_string();
}

template <class M>
std::string error_of_message(const M& message) {
  return error_of_frames(*encode({{}, message}));
}

TEST(Envelope, names_what_is_wrong_with_the_header) {
  const Frames good = *encode({{}, Ping{}});
  ASSERT_EQ(error_of_frames(good), "none");
  Frames frames = good;
  frames[0][0] = 'X';
  EXPECT_EQ(error_of_frames(frames),
            "invalid_argument: magic: the message does not begin with CAS1");
  frames = good;
  frames[0][4] = 2;
  EXPECT_EQ(error_of_frames(frames),
            "unsupported: version: protocol version 2 is not supported; this is version 1");
  frames = good;
  frames[0][5] = '\xFF';
  EXPECT_EQ(error_of_frames(frames), "unsupported: type: message type 255 is unknown");
  frames = good;
  frames[0][7] = 1;
  EXPECT_EQ(error_of_frames(frames), "invalid_argument: flags: must be 0");
  frames = good;
  frames[0].pop_back();
  EXPECT_EQ(error_of_frames(frames), "invalid_argument: header: must have 8 bytes, got 7");
  frames = good;
  frames[1].pop_back();
  EXPECT_EQ(error_of_frames(frames), "invalid_argument: request_id: must have 16 bytes, got 15");
  frames = good;
  frames.pop_back();
  EXPECT_EQ(error_of_frames(frames),
            "invalid_argument: frames: a message has between 3 and 4096 frames, got 2");
}

TEST(Envelope, limits_frames_and_bytes) {
  Frames frames = *encode({{}, Ping{}});
  frames.resize(kFrameCountMax);
  EXPECT_EQ(error_of_frames(frames), "none");
  frames.resize(kFrameCountMax + 1);
  EXPECT_NE(error_of_frames(frames).find("frames: a message has between 3 and 4096"),
            std::string::npos);
  frames.resize(4);
  frames[3].resize(kMessageBytesMax);
  EXPECT_NE(
      error_of_frames(frames).find("frames: have 67108889 bytes, more than the limit of 67108864"),
      std::string::npos);
}

TEST(Envelope, peeks_at_the_request_id_of_any_frames) {
  RequestId id{};
  id.fill(7);
  Frames frames = *encode({id, Ping{}});
  frames[0] = "nonsense";
  EXPECT_EQ(peek_request_id(frames), id);
  EXPECT_EQ(peek_request_id({}), RequestId{});
  frames[1] = "short";
  EXPECT_EQ(peek_request_id(frames), RequestId{});
}

TEST(Body, names_missing_and_mistyped_fields) {
  EXPECT_EQ(error_of_frames(frames_of<ChunkPut>(map_of({{"type", packed("QUERY")}}))),
            "invalid_argument: text: exactly one of text and token_ids must be given and not be "
            "empty");
  EXPECT_EQ(error_of_frames(frames_of<ChunkPut>(map_of({{"type", "\x01"}, {"text", packed("a")}}))),
            "invalid_argument: type: must be a string");
  EXPECT_EQ(error_of_frames(frames_of<ChunkPut>(map_of({{"type", packed("query")}}))),
            "invalid_argument: type: has an unknown name: query");
  EXPECT_EQ(error_of_frames(frames_of<ChunkListRequest>(map_of({{"limit", packed("many")}}))),
            "invalid_argument: limit: must be a whole number");
  EXPECT_EQ(
      error_of_frames(frames_of<ChunkListRequest>(map_of({{"limit", "\xCE\xFF\xFF\xFF\xFF"}}))),
      "invalid_argument: limit: must be between -2147483648 and 2147483647");
  EXPECT_EQ(
      error_of_frames(frames_of<CancelRequest>(map_of({{"target", packed("0123456789abcdef")}}))),
      "invalid_argument: target: must be a byte string (bin) of 16 bytes");
  EXPECT_EQ(error_of_frames(frames_of<GenerateRequest>(map_of({{"stream", "\x01"}}))),
            "invalid_argument: stream: must be true or false");
  EXPECT_EQ(error_of_frames(frames_of<GenerateRequest>(map_of({{"chunks", "\x01"}}))),
            "invalid_argument: chunks: must be an array");
  EXPECT_EQ(error_of_frames(frames_of<GenerateRequest>(map_of({{"sampling", "\x90"}}))),
            "invalid_argument: sampling: must be a map");
}

TEST(Body, names_the_place_of_a_nested_field) {
  const std::string good = map_of({{"role", packed("user")}, {"content", packed("hi")}});
  const std::string bad = map_of({{"role", packed("user")}, {"content", "\xC2"}});
  EXPECT_EQ(
      error_of_frames(frames_of<GenerateRequest>(map_of({{"messages", "\x92" + good + bad}}))),
      "invalid_argument: messages[1].content: must be a string");
}

TEST(Body, refuses_text_that_is_not_utf8_or_too_long) {
  const std::string broken = std::string("\xA3") + "ab\xFF";
  EXPECT_EQ(error_of_frames(frames_of<ChunkGet>(map_of({{"id", broken}}))),
            "invalid_argument: id: is not UTF-8 at byte 2");
  const std::string type = packed("CONTEXT");
  const std::string longest(kTextBytesMax, 'x');
  EXPECT_EQ(
      error_of_frames(frames_of<ChunkPut>(map_of({{"type", type}, {"text", packed(longest)}}))),
      "none");
  EXPECT_EQ(error_of_frames(
                frames_of<ChunkPut>(map_of({{"type", type}, {"text", packed(longest + "x")}}))),
            "invalid_argument: text: has 16777217 bytes, more than the limit of 16777216");
}

TEST(Body, ignores_unknown_keys_of_any_type_and_takes_nil_for_absent) {
  const std::string extension =
      "\xC7\x03\x05"
      "abc";
  EXPECT_EQ(error_of_frames(frames_of<ChunkGet>(map_of({{"new", extension},
                                                        {"newer",
                                                         "\x92\xC0\x81\xA1k\xCB"
                                                         "12345678"},
                                                        {"id", packed("chunk_1")}}))),
            "none");
  const Result<Envelope> list =
      decode(frames_of<ChunkListRequest>(map_of({{"type", "\xC0"}, {"limit", "\xC0"}})));
  ASSERT_TRUE(list.ok());
  EXPECT_FALSE(std::get<ChunkListRequest>(list->message).type.has_value());
  EXPECT_EQ(std::get<ChunkListRequest>(list->message).limit, 1000);
}

TEST(Body, takes_whole_numbers_and_both_sizes_of_float_for_a_number) {
  const std::string sampling =
      map_of({{"temperature", "\x02"}, {"top_p", {"\xCA\x3F\x00\x00\x00", 5}}});
  const Result<Envelope> result =
      decode(frames_of<GenerateRequest>(map_of({{"prompt", packed("p")}, {"sampling", sampling}})));
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  const auto& request = std::get<GenerateRequest>(result->message);
  EXPECT_EQ(request.sampling.temperature, 2.0);
  EXPECT_EQ(request.sampling.top_p, 0.5);
}

// msgpack-cxx gives a null pointer for an empty string at the very start.
TEST(Body, takes_an_empty_key_as_the_first_value) {
  EXPECT_EQ(error_of_frames(frames_of<Ping>("\x81\xA0\xC0")), "none");
  EXPECT_EQ(error_of_frames(frames_of<ChunkGet>("\x81\xA0\xC0")),
            "invalid_argument: id: is missing");
}

TEST(Body, refuses_keys_that_are_twice_or_no_strings) {
  EXPECT_EQ(
      error_of_frames(frames_of<ChunkGet>(map_of({{"id", packed("a")}, {"id", packed("b")}}))),
      "invalid_argument: id: occurs twice");
  EXPECT_EQ(error_of_frames(frames_of<ChunkGet>("\x81\x01\x02")),
            "invalid_argument: body: a map has a key that is not a string");
  EXPECT_EQ(error_of_frames(frames_of<ChunkGet>("\x81\x81\x01\x02\x03")),
            "invalid_argument: body: a map has a key that is not a string");
  EXPECT_EQ(error_of_frames(frames_of<ChunkGet>("\x91\x01")),
            "invalid_argument: body: is not a map");
  EXPECT_EQ(error_of_frames(frames_of<Ping>(std::string("\x80\x80"))),
            "invalid_argument: body: has 1 bytes after its map");
  EXPECT_EQ(error_of_frames(frames_of<Ping>("")),
            "invalid_argument: body: ends within a value, at byte 0");
  EXPECT_EQ(error_of_frames(frames_of<Ping>("\xC1")),
            "invalid_argument: body: not valid MessagePack at byte 0");
}

TEST(Body, limits_depth) {
  const auto nested = [](int levels) {  // the body's map and arrays in arrays
    return map_of({{"x", std::string(static_cast<size_t>(levels - 1), '\x91') + "\x01"}});
  };
  EXPECT_EQ(error_of_frames(frames_of<Ping>(nested(kDepthMax))), "none");
  EXPECT_EQ(error_of_frames(frames_of<Ping>(nested(kDepthMax + 1))),
            "invalid_argument: body: is nested deeper than 16 levels");
  EXPECT_EQ(error_of_frames(frames_of<Ping>(nested(1'000'000))),
            "invalid_argument: body: is nested deeper than 16 levels");
}

TEST(Body, limits_keys_elements_and_values) {
  const auto keys = [](uint32_t count) {
    std::string body;
    pack_map_size(body, count);
    for (uint32_t i = 0; i < count; ++i) body += packed("k" + std::to_string(i)) + "\xC0";
    return body;
  };
  EXPECT_EQ(error_of_frames(frames_of<Ping>(keys(kMapKeysMax))), "none");
  EXPECT_EQ(error_of_frames(frames_of<Ping>(keys(kMapKeysMax + 1))),
            "invalid_argument: body: a map has more than 256 keys");
  const auto elements = [](uint32_t count) {
    std::string array;
    pack_array_size(array, count);
    return array + std::string(count, '\xC0');
  };
  const std::string full = elements(kArrayElementsMax);
  EXPECT_EQ(error_of_frames(frames_of<Ping>(map_of({{"x", full}}))), "none");
  EXPECT_EQ(error_of_frames(frames_of<Ping>(map_of({{"x", elements(kArrayElementsMax + 1)}}))),
            "invalid_argument: body: an array has more than 1048576 elements");
  EXPECT_EQ(error_of_frames(frames_of<Ping>(map_of({{"x", full}, {"y", full}}))),
            "invalid_argument: body: has more than 2097152 values");
}

TEST(Arrays, are_referred_to_once_and_hold_whole_words) {
  Final final;
  final.token_ids = {1, 2, 3};
  final.logprobs = {-1, -2, -3};
  const Frames good = *encode({{}, final});
  ASSERT_EQ(good.size(), 5u);
  Frames frames = good;
  frames.pop_back();
  EXPECT_EQ(error_of_frames(frames), "invalid_argument: logprobs: refers to array 1 of 1");
  frames = good;
  const size_t reference = frames[2].find("logprobs") + 8;
  frames[2][reference] = 0;
  EXPECT_EQ(error_of_frames(frames),
            "invalid_argument: logprobs: refers to array 0, which another field has");
  frames = good;
  frames[2][reference] = '\xFF';
  EXPECT_EQ(error_of_frames(frames),
            "invalid_argument: logprobs: must be between 0 and 4294967295");
  frames = good;
  frames[3].pop_back();
  EXPECT_EQ(error_of_frames(frames),
            "invalid_argument: token_ids: has an array of 11 bytes, which is not a multiple of 4");
}

TEST(Arrays, of_a_chunk_list_must_add_up) {
  StoreChunks message;
  message.chunks.resize(2);
  message.chunks[0].token_ids = {1};
  message.chunks[1].token_ids = {2, 3};
  Frames frames = *encode({{}, message});
  frames[3].resize(8);
  EXPECT_EQ(error_of_frames(frames),
            "invalid_argument: token_ids: has fewer ids than the chunks count");
  frames[3].resize(16);
  EXPECT_EQ(error_of_frames(frames),
            "invalid_argument: token_ids: has more ids than the chunks count");
}

TEST(Rules, ask_for_exactly_one_prompt) {
  GenerateRequest request;
  const std::string expected =
      "invalid_argument: prompt: exactly one of chunks, messages and prompt (or prompt_token_ids) "
      "must be given";
  EXPECT_EQ(error_of_message(request), expected);
  request.prompt = "";
  EXPECT_EQ(error_of_message(request), "invalid_argument: prompt: must not be empty");
  request.prompt = "x";
  EXPECT_EQ(error_of_message(request), "none");
  request.messages = {{"user", "hi", "", false}};
  EXPECT_EQ(error_of_message(request), expected);
  request.prompt.reset();
  EXPECT_EQ(error_of_message(request), "none");
  request.messages.push_back({"assistant", "hello", "", false});
  EXPECT_EQ(
      error_of_message(request),
      "invalid_argument: messages[1].role: the last message must be the user's (or a tool's)");
  request.messages[0].role = "root";
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: messages[0].role: must be system, user, assistant or tool");
  request.messages.clear();
  request.prompt_token_ids = {1, 2};
  EXPECT_EQ(error_of_message(request), "none");
  request.prompt = "x";
  EXPECT_EQ(error_of_message(request), expected);
}

TEST(Rules, order_the_chunks_of_a_composition) {
  const ChunkRef system{ChunkType::kSystemPrompt, "", "s"};
  const ChunkRef context{ChunkType::kContext, "", "c"};
  const ChunkRef output{ChunkType::kOutput, "output_1", ""};
  const ChunkRef query{ChunkType::kQuery, "", "q"};
  GenerateRequest request;
  request.chunks = {system, output, context, output, query};
  EXPECT_EQ(error_of_message(request), "none");
  request.chunks = {query};
  EXPECT_EQ(error_of_message(request), "none");
  request.chunks = {context, system, query};
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: chunks[1].type: a system prompt must be first");
  request.chunks = {query, query};
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: chunks[0].type: a query must be the last chunk");
  request.chunks = {system, context};
  EXPECT_EQ(error_of_message(request), "none");
  request.chunks = {{ChunkType::kQuery, "chunk_1", "text"}};
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: chunks[0]: must have either an id or a text");
  request.chunks = {{ChunkType::kQuery, std::string(129, 'x'), ""}};
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: chunks[0].id: has 129 bytes, more than the limit of 128");
}

TEST(Rules, bound_the_parameters_of_sampling) {
  GenerateRequest request;
  request.prompt = "x";
  request.sampling.temperature = 100.5;
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: sampling.temperature: must be at least 0 and at most 100, got "
            "100.500000");
  request.sampling = {};
  request.sampling.top_p = -0.5;
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: sampling.top_p: must be at least 0 and at most 1, got -0.500000");
  request.sampling.top_p = 0;
  EXPECT_EQ(error_of_message(request), "none");
  request.sampling.min_p = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(error_of_message(request).find("sampling.min_p: must be at least 0"),
            std::string::npos);
  request.sampling = {};
  request.sampling.repetition_penalty = 0;
  EXPECT_NE(error_of_message(request).find("sampling.repetition_penalty: must be above 0"),
            std::string::npos);
  request.sampling = {};
  request.sampling.top_k = -1;
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: sampling.top_k: must be between 0 and 2097152, got -1");
  request.sampling = {};
  request.max_tokens = -1;
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: max_tokens: must not be negative, got -1");
  request.max_tokens = 0;
  request.timeout_ms = -5;
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: timeout_ms: must not be negative, got -5");
}

GenerateRequest biased(std::vector<LogitBias> biases) {
  GenerateRequest request;
  request.prompt = "x";
  request.sampling.logit_bias = std::move(biases);
  return request;
}

TEST(Rules, bound_penalties_and_logit_biases) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  GenerateRequest request;
  request.prompt = "x";
  for (const double good : {-2.0, 0.0, 2.0}) {
    request.sampling.presence_penalty = request.sampling.frequency_penalty = good;
    EXPECT_EQ(error_of_message(request), "none");
    EXPECT_EQ(error_of_message(biased({{0, 50 * good}, {INT32_MAX, -50 * good}})), "none");
  }
  for (const double bad : {-2.001, 2.001, kNan, kInf, -kInf}) {
    request.sampling = {};
    request.sampling.presence_penalty = bad;
    EXPECT_EQ(
        error_of_message(request),
        "invalid_argument: sampling.presence_penalty: must be at least -2 and at most 2, got " +
            std::to_string(bad));
    request.sampling = {};
    request.sampling.frequency_penalty = bad;
    EXPECT_EQ(
        error_of_message(request),
        "invalid_argument: sampling.frequency_penalty: must be at least -2 and at most 2, got " +
            std::to_string(bad));
  }
  for (const double bad : {-100.5, 100.5, kNan, kInf, -kInf}) {
    EXPECT_EQ(error_of_message(biased({{3, 1}, {77, bad}})),
              "invalid_argument: sampling.logit_bias[77]: must be at least -100 and at most 100, "
              "got " +
                  std::to_string(bad));
  }
  EXPECT_EQ(error_of_message(biased({{-1, 0}})),
            "invalid_argument: sampling.logit_bias[-1]: a token id must not be negative");
  EXPECT_EQ(error_of_message(biased({{5, 0}, {6, 0}, {5, 0}})),
            "invalid_argument: sampling.logit_bias[5]: occurs twice");
  std::vector<LogitBias> many(1024);
  for (int32_t i = 0; i < 1024; ++i) many[static_cast<size_t>(i)] = {i, 1};
  EXPECT_EQ(error_of_message(biased(many)), "none");
  many.push_back({1024, 1});
  EXPECT_EQ(error_of_message(biased(many)),
            "invalid_argument: sampling.logit_bias: has 1025 tokens, more than the limit of 1024");
}

TEST(Rules, top_logprobs_are_few_and_come_with_logprobs) {
  GenerateRequest request;
  request.prompt = "x";
  request.logprobs = true;
  for (const int32_t good : {0, 1, 20}) {
    request.top_logprobs = good;
    EXPECT_EQ(error_of_message(request), "none");
  }
  for (const int32_t bad : {-1, 21, INT32_MAX}) {
    request.top_logprobs = bad;
    EXPECT_EQ(
        error_of_message(request),
        "invalid_argument: top_logprobs: must be between 0 and 20, got " + std::to_string(bad));
  }
  request.top_logprobs = 1;
  request.logprobs = false;
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: top_logprobs: is only allowed together with logprobs");
}

TEST(Rules, bound_stop_strings_lists_and_ids) {
  GenerateRequest request;
  request.prompt = "x";
  request.stop.assign(16, std::string(256, 's'));
  EXPECT_EQ(error_of_message(request), "none");
  request.stop.push_back("s");
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: stop: has 17 strings, more than the limit of 16");
  request.stop = {"a", ""};
  EXPECT_EQ(error_of_message(request),
            "invalid_argument: stop[1]: must have between 1 and 256 bytes");
  ChunkListRequest list;
  list.limit = 0;
  EXPECT_EQ(error_of_message(list), "invalid_argument: limit: must be between 1 and 1000, got 0");
  EXPECT_EQ(error_of_message(ChunkGet{}), "invalid_argument: id: must not be empty");
  EXPECT_EQ(error_of_message(ChunkDelete{std::string(129, 'x')}),
            "invalid_argument: id: has 129 bytes, more than the limit of 128");
}

TEST(Rules, of_what_chunks_are_given_name_field_and_limit) {
  ChunkUpdate named;
  named.id = "chunk_01";
  ChunkUpdate update = named;
  EXPECT_EQ(error_of_message(update), "invalid_argument: body: names no change");
  update.name = std::string(128, 'n');
  EXPECT_EQ(error_of_message(update), "none");
  update.name = "";
  EXPECT_EQ(error_of_message(update), "none");
  update.name = std::string(129, 'n');
  EXPECT_EQ(error_of_message(update),
            "invalid_argument: name: has 129 bytes, more than the limit of 128");
  for (const char* control : {"\n", "a\x1b[2J", "\x7F", "\xC2\x85", "\t"}) {
    update.name = control;
    EXPECT_NE(error_of_message(update).find("name: has a control character at byte "),
              std::string::npos);
  }
  update.name = "\xC3\xA9t\xC3\xA9 \xE4\xB8\x96";
  EXPECT_EQ(error_of_message(update), "none");
  update.name = "\xFF";
  EXPECT_EQ(check_request(update).error().message, "is not UTF-8");  // encode() would replace it
  update = named;
  for (const int64_t bad : {int64_t{-1}, kDurationMsMax + 1, INT64_MAX}) {
    update.ttl_ms = bad;
    EXPECT_EQ(error_of_message(update),
              "invalid_argument: ttl_ms: must be between 0 and 3155760000000, got " +
                  std::to_string(bad));
  }
  update = named;
  update.priority = 101;
  EXPECT_EQ(error_of_message(update),
            "invalid_argument: priority: must be between 0 and 100, got 101");
  update.priority = 0;
  update.priority_ms = 0;
  EXPECT_EQ(error_of_message(update),
            "invalid_argument: priority_ms: must be between 1 and 3155760000000, got 0");
  update.priority_ms = 1;
  EXPECT_EQ(error_of_message(update), "none");
  update.priority.reset();
  EXPECT_EQ(error_of_message(update),
            "invalid_argument: priority_ms: is only allowed together with priority");
  EXPECT_EQ(error_of_message(ChunkUpdate{}), "invalid_argument: id: must not be empty");
  ChunkPut put{ChunkType::kContext, "x"};
  EXPECT_EQ(error_of_message(put), "none");
  put.token_ids = {1};
  EXPECT_EQ(error_of_message(put),
            "invalid_argument: token_ids: exactly one of text and token_ids must be given and not "
            "be empty");
}

}  // namespace
}  // namespace cascade::wire
