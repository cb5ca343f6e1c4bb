// The chunks and messages of which turns and requests are composed.
#include <gtest/gtest.h>

#include "clients/ctl/conversation.h"
#include "clients/ctl/generate.h"
#include "wire/request_rules.h"

namespace cascade::ctl {
namespace {

// "SYSTEM_PROMPT:text OUTPUT:#id ..."
std::string listed(const std::vector<wire::ChunkRef>& chunks) {
  std::string text;
  for (const wire::ChunkRef& chunk : chunks) {
    if (!text.empty()) text += " ";
    text += std::string(to_string(chunk.type)) + ":";
    text += chunk.id.empty() ? chunk.text : "#" + chunk.id;
  }
  return text;
}

// The next turn, as chunks or as "system:text user:text"; the error if there is none.
std::string composed(const Conversation& conversation) {
  wire::GenerateRequest request;
  const Status status = conversation.compose(request);
  if (!status.ok()) return status.error().to_string();
  EXPECT_TRUE(wire::check_request(request).ok());
  std::string text = listed(request.chunks);
  for (const ChatMessage& message : request.messages) {
    if (!text.empty()) text += " ";
    text += message.role + (message.verbatim ? "!:" : ":") + message.content;
  }
  return text;
}

ChatMessage answer(const std::string& text) {
  return {.role = "assistant", .content = text, .reasoning = {}};
}

Turn turn(const std::string& id) {
  return {id, "question of " + id, answer("answer of " + id)};
}

TEST(Conversation, composes_system_outputs_contexts_and_query) {
  Conversation conversation;
  EXPECT_EQ(composed(conversation),
            "invalid_argument: /infer: there is no question: /query TEXT first");
  conversation.set_query("q1");
  EXPECT_EQ(composed(conversation), "QUERY:q1");
  conversation.set_system("s");
  conversation.add_context("c1");
  conversation.add_context("c2");
  EXPECT_EQ(composed(conversation), "SYSTEM_PROMPT:s CONTEXT:c1 CONTEXT:c2 QUERY:q1");
  conversation.answered("output_1", answer("a1"));
  conversation.set_query("q2");
  // The contexts are part of output_1 now.
  EXPECT_EQ(composed(conversation), "SYSTEM_PROMPT:s OUTPUT:#output_1 QUERY:q2");
}

TEST(Conversation, takes_each_output_once_and_in_order) {
  Conversation conversation;
  conversation.set_query("q");
  EXPECT_TRUE(conversation.add_output(turn("output_2")));
  EXPECT_TRUE(conversation.add_output(turn("output_1")));
  EXPECT_FALSE(conversation.add_output(turn("output_2")));
  EXPECT_EQ(composed(conversation), "OUTPUT:#output_2 OUTPUT:#output_1 QUERY:q");
  conversation.remove_output("output_2");
  EXPECT_EQ(composed(conversation), "OUTPUT:#output_1 QUERY:q");
}

TEST(Conversation, clear_leaves_the_system_prompt) {
  Conversation conversation;
  conversation.set_system("s");
  conversation.set_query("q");
  conversation.add_output(turn("output_1"));
  conversation.add_context("c");
  conversation.clear();
  EXPECT_TRUE(composed(conversation).starts_with("invalid_argument"));
  conversation.set_query("new");
  EXPECT_EQ(composed(conversation), "SYSTEM_PROMPT:s QUERY:new");
}

TEST(Conversation, always_composes_what_the_protocol_allows) {
  Conversation conversation;
  conversation.set_system("s");
  conversation.add_context("c");
  conversation.add_output(turn("output_1"));
  conversation.set_query("q");
  EXPECT_EQ(composed(conversation), "SYSTEM_PROMPT:s OUTPUT:#output_1 CONTEXT:c QUERY:q");
}

TEST(Conversation, goes_on_as_text_when_its_chunks_are_gone) {
  Conversation conversation;
  conversation.set_query("q1");
  EXPECT_FALSE(conversation.chunks_are_gone()) << "there are none yet";
  conversation.set_system("s");
  conversation.add_context("c1");
  conversation.add_context("c2");
  conversation.answered("output_1", answer("a1"));
  conversation.set_query("q2");
  conversation.add_context("c3");
  EXPECT_TRUE(conversation.chunks_are_gone());
  EXPECT_EQ(composed(conversation), "system:s user:c1\n\nc2\n\nq1 assistant:a1 user:c3\n\nq2");
  EXPECT_FALSE(conversation.chunks_are_gone()) << "nothing more can be done";
  // The new daemon's outputs do not contain the turns before them, so the text stays.
  conversation.answered("output_9", answer("a2"));
  conversation.add_output(turn("output_8"));
  conversation.set_query("q3");
  EXPECT_EQ(composed(conversation),
            "system:s user:c1\n\nc2\n\nq1 assistant:a1 user:c3\n\nq2 assistant:a2 "
            "user:question of output_8 assistant:answer of output_8 user:q3");
  conversation.remove_output("output_1");
  conversation.remove_output("output_8");
  EXPECT_EQ(composed(conversation), "system:s user:c3\n\nq2 assistant:a2 user:q3");
  conversation.clear();
  conversation.set_query("q4");
  EXPECT_EQ(composed(conversation), "SYSTEM_PROMPT:s QUERY:q4");
}

TEST(Conversation, has_a_turn_twice_that_happened_twice) {
  Conversation conversation;
  for (int i = 0; i < 2; ++i) {
    conversation.set_query("again");
    conversation.answered("output_1", answer("same"));  // equal outputs have one id
  }
  conversation.set_query("q");
  EXPECT_EQ(composed(conversation), "OUTPUT:#output_1 OUTPUT:#output_1 QUERY:q");
}

TEST(Turn, is_the_output_as_history_has_it) {
  Chunk output;
  output.id = "output_1";
  output.query_text = "q";
  output.text = "a";
  output.raw_text = "<think>t</think>a";
  EXPECT_EQ(turn_of(output).answer, answer("a"));
  EXPECT_EQ(turn_of(output).question, "q");
  output.think_policy = ThinkPolicy::kKeep;
  EXPECT_EQ(turn_of(output).answer.content, "<think>t</think>a");
  EXPECT_TRUE(turn_of(output).answer.verbatim);
}

std::string composition_error(const Result<wire::GenerateRequest>& result) {
  return result.ok() ? "none" : result.error().to_string();
}

TEST(ComposeRequest, sorts_chunks_by_level_and_keeps_their_order) {
  GenerateOptions options;
  options.params.max_tokens = 9;
  const std::vector<ResolvedContext> contexts = {{ChunkType::kContext, "", "text"},
                                                 {ChunkType::kQuery, "chunk_q", ""},
                                                 {ChunkType::kOutput, "output_1", ""},
                                                 {ChunkType::kSystemPrompt, "chunk_s", ""}};
  const Result<wire::GenerateRequest> request = compose_request(options, contexts, {});
  ASSERT_TRUE(request.ok()) << request.error().to_string();
  EXPECT_EQ(listed(request->chunks),
            "SYSTEM_PROMPT:#chunk_s CONTEXT:text OUTPUT:#output_1 QUERY:#chunk_q");
  EXPECT_EQ(request->max_tokens, 9);
}

TEST(ComposeRequest, refuses_two_of_what_there_is_one) {
  GenerateOptions options;
  options.system = "s";
  EXPECT_EQ(
      composition_error(compose_request(options, {{ChunkType::kSystemPrompt, "chunk_s", ""}}, "q")),
      "invalid_argument: --system: there is more than one system prompt");
  EXPECT_EQ(composition_error(compose_request(options, {{ChunkType::kQuery, "chunk_q", ""}}, "q")),
            "invalid_argument: --query: there is more than one question");
  EXPECT_EQ(composition_error(compose_request(options, {}, {})),
            "invalid_argument: --query: there is no question");
}

TEST(ComposeRequest, raw_is_the_prompt_and_nothing_else) {
  GenerateOptions options;
  options.raw = true;
  const Result<wire::GenerateRequest> request = compose_request(options, {}, "Once upon");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->prompt, "Once upon");
  EXPECT_TRUE(request->chunks.empty());
  options.system = "s";
  EXPECT_EQ(composition_error(compose_request(options, {}, "x")),
            "invalid_argument: --raw: excludes --system, --context, --context-file and --chunk");
}

TEST(ComposeRequest, checks_parameters) {
  GenerateOptions options;
  options.params.sampling.top_p = 2;
  EXPECT_NE(composition_error(compose_request(options, {}, "q")).find("sampling.top_p"),
            std::string::npos);
}

}  // namespace
}  // namespace cascade::ctl
