// How the lines of --batch become requests.
#include "clients/ctl/batch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/request_rules.h"

namespace cascade::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

GenerateOptions some_options() {
  GenerateOptions options;
  options.system = "Be terse.";
  options.params.max_tokens = 50;
  options.params.sampling.temperature = 0.5;
  options.params.sampling.seed = UINT64_MAX;
  options.params.sampling.logit_bias = {{3, -1.5}};
  options.params.stop = {"\n"};
  return options;
}

const std::vector<ResolvedContext> kContexts = {{ChunkType::kContext, "", "Water is wet."}};

Result<wire::GenerateRequest> line_request(const std::string& line,
                                           const GenerateOptions& options = some_options()) {
  return batch_request({7, line}, options,
                       options.raw ? std::vector<ResolvedContext>() : kContexts);
}

wire::GenerateRequest good(const std::string& line,
                           const GenerateOptions& options = some_options()) {
  const auto request = line_request(line, options);
  EXPECT_TRUE(request.ok()) << request.error().to_string();
  return request.ok() ? *request : wire::GenerateRequest{};
}

std::string line_error(const std::string& line) {
  const auto request = line_request(line);
  EXPECT_FALSE(request.ok()) << line;
  if (request.ok()) return "";
  EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
  return request.error().to_string();
}

std::string composition(const wire::GenerateRequest& request) {
  std::string text;
  for (const wire::ChunkRef& chunk : request.chunks) {
    text += std::string(to_string(chunk.type)) + ":" + chunk.text + " ";
  }
  return text;
}

TEST(BatchFile, lines_are_numbered_and_blank_ones_passed_over) {
  const auto lines = batch_lines("one\n\n  \t\ntwo\r\n{\"query\": 3}");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].number, 1u);
  EXPECT_EQ(lines[1].number, 4u);
  EXPECT_EQ(lines[1].text, "two");
  EXPECT_EQ(lines[2].number, 5u);
  EXPECT_TRUE(batch_lines("").empty());
  EXPECT_TRUE(batch_lines("\n\r\n").empty());
}

TEST(BatchFile, a_text_is_a_query_with_the_options_of_the_command) {
  const auto request = good("Is water \"wet\"?");
  EXPECT_EQ(composition(request),
            "SYSTEM_PROMPT:Be terse. CONTEXT:Water is wet. QUERY:Is water \"wet\"? ");
  EXPECT_EQ(request.max_tokens, 50);
  EXPECT_EQ(request.sampling.seed, UINT64_MAX);
  GenerateOptions raw;
  raw.raw = true;
  EXPECT_EQ(good("Once upon", raw).prompt, "Once upon");
}

TEST(BatchFile, an_object_goes_before_the_options_field_by_field) {
  const auto request = good(
      R"({"query": "Grüße?", "max_tokens": 9, "stop": ["a", "b"], "logprobs": true,
          "sampling": {"temperature": 0, "top_k": 5, "logit_bias": [{"token": 8, "bias": 2}]}})");
  EXPECT_EQ(composition(request), "SYSTEM_PROMPT:Be terse. CONTEXT:Water is wet. QUERY:Grüße? ");
  EXPECT_EQ(request.max_tokens, 9);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.logprobs);
  EXPECT_EQ(request.sampling.temperature, 0);
  EXPECT_EQ(request.sampling.top_k, 5);
  EXPECT_EQ(request.sampling.seed, UINT64_MAX) << "of the options";
  ASSERT_EQ(request.sampling.logit_bias.size(), 1u);
  EXPECT_EQ(request.sampling.logit_bias[0].token, 8);
  EXPECT_EQ(request.sampling.logit_bias[0].bias, 2);
  // A null counts as if the option had not been given.
  const auto without = good(R"({"query": "?", "stop": null, "sampling": {"seed": null}})");
  EXPECT_TRUE(without.stop.empty());
  EXPECT_FALSE(without.sampling.seed.has_value());
  EXPECT_EQ(without.sampling.temperature, 0.5);
}

TEST(BatchFile, an_object_may_bring_its_own_prompt) {
  EXPECT_EQ(good(R"({"prompt": "Once upon"})").prompt, "Once upon");
  const auto messages = good(R"({"messages": [{"role": "user", "content": "Hi"}]})");
  ASSERT_EQ(messages.messages.size(), 1u);
  EXPECT_EQ(messages.messages[0].content, "Hi");
  EXPECT_TRUE(messages.chunks.empty());
  EXPECT_EQ(messages.max_tokens, 50);
  const auto chunks = good(R"({"chunks": [{"type": "QUERY", "id": "chunk_12345678"}]})");
  EXPECT_EQ(chunks.chunks[0].id, "chunk_12345678");
}

TEST(BatchFile, says_which_line_and_field_are_wrong) {
  EXPECT_EQ(line_error(R"({"query": "x", "temprature": 1})"),
            "invalid_argument: line 7, temprature: is not a field of a request; did you mean "
            "\"sampling\": {\"temperature\": …}?");
  EXPECT_EQ(line_error(R"({"query": "x", "sampling": {"top-p": 1}})"),
            "invalid_argument: line 7, sampling.top-p: is not a field of a request; did you "
            "mean top_p?");
  EXPECT_THAT(line_error(R"({"query": "x", "sampling": {"top_p": 7}})"),
              StartsWith("invalid_argument: line 7, sampling.top_p: must be at least 0"));
  EXPECT_THAT(line_error(R"({"query": "x", "sampling": [1]})"),
              StartsWith("invalid_argument: line 7, sampling: must be a map"));
  EXPECT_THAT(line_error(R"({"query": "x", "stop": "a"})"),
              StartsWith("invalid_argument: line 7, stop: must be an array"));
  EXPECT_THAT(line_error(R"({"query": "x", "prompt": "y"})"),
              HasSubstr("line 7, prompt: exactly one"));
  EXPECT_THAT(line_error(R"({"max_tokens": 5})"),
              HasSubstr("line 7, query: is missing; a line is"));
  EXPECT_THAT(line_error(R"({"query": 5})"), HasSubstr("line 7, query"));
  EXPECT_THAT(line_error(R"({"query": "x")"), StartsWith("invalid_argument: line 7"));
  EXPECT_EQ(line_error("ab\xFF"), "invalid_argument: line 7: is not UTF-8 at byte 2");
  EXPECT_THAT(line_error(std::string(1000, '{')), StartsWith("invalid_argument: line 7"));
}

TEST(BatchFile, says_what_to_write_instead) {
  constexpr char kForm[] =
      R"(a line is a question as text, or {"query": "a question"} with further fields)";
  for (const char* line : {R"({"query": ["x"]})", R"({"query": {"text": "x"}})", R"({"query": …})",
                           R"({"question": "x"})", R"({"query": "x"},)", "{", R"([{"query": "x"}])",
                           "[", R"({"max_tokens": 3})"}) {
    EXPECT_THAT(line_error(line), HasSubstr(kForm)) << line;
  }
  EXPECT_EQ(line_error(R"({"query": "x", "temperature": 0})"),
            "invalid_argument: line 7, temperature: is a field of sampling: \"sampling\": "
            "{\"temperature\": …}");
  EXPECT_THAT(line_error(R"({"query": "x", "max_token": 3})"),
              HasSubstr("did you mean max_tokens?"));
  EXPECT_THAT(line_error(R"({"query": "x", "system": "s"})"), HasSubstr("--system"));
  EXPECT_THAT(line_error(R"({"query": ""})"),
              HasSubstr("line 7, query: is empty: write a question"));
  // These texts only look like JSON.
  EXPECT_EQ(good("[1] and [2]: which is larger?").chunks.size(), 3u);
  EXPECT_EQ(good("[1, 2]").chunks.size(), 3u);
}

}  // namespace
}  // namespace cascade::ctl
