// The chat's language: commands, completion, blocks of text.
#include "clients/ctl/chat_command.h"

#include <gtest/gtest.h>

#include "clients/ctl/text_block.h"

namespace cascade::ctl {
namespace {

std::string command_error(std::string_view line) {
  const Result<ChatCommand> command = parse_chat_line(line);
  return command.ok() ? "none" : command.error().to_string();
}

TEST(ChatCommand, tells_commands_from_text) {
  EXPECT_EQ(parse_chat_line("What is 2+2?")->verb, ChatVerb::kText);
  EXPECT_EQ(parse_chat_line("What is 2+2?")->argument, "What is 2+2?");
  EXPECT_EQ(parse_chat_line("  ")->verb, ChatVerb::kNothing);
  const Result<ChatCommand> system = parse_chat_line("/system  You are\na helper ");
  ASSERT_TRUE(system.ok());
  EXPECT_EQ(system->verb, ChatVerb::kSystem);
  EXPECT_EQ(system->argument, "You are\na helper");
  EXPECT_EQ(parse_chat_line("/use-output 1")->verb, ChatVerb::kUseOutput);
  EXPECT_EQ(parse_chat_line("//etc/passwd?")->argument, "/etc/passwd?");
  for (const char* leave : {"/bye", "/exit", "/quit"}) {
    EXPECT_EQ(parse_chat_line(leave)->verb, ChatVerb::kBye);
  }
}

TEST(ChatCommand, explains_what_is_wrong) {
  EXPECT_EQ(command_error("/frobnicate"),
            "invalid_argument: /frobnicate: is not a command; /help lists them");
  EXPECT_EQ(command_error("/use-output"), "invalid_argument: /use-output: needs an argument: N|ID");
  EXPECT_EQ(command_error("/infer now"), "invalid_argument: /infer: takes no argument");
  EXPECT_EQ(command_error("/System x"),
            "invalid_argument: /System: is not a command; /help lists them");
  EXPECT_EQ(command_error("/system"), "none");
}

TEST(ChatCommand, help_has_every_command_of_the_manual) {
  const std::string help = chat_help();
  for (const char* name :
       {"/system", "/query", "/infer", "/output", "/use-output", "/delete-output", "/chunks",
        "/stats", "/clear", "/help", "/bye", "/context", "/think", "/effort"}) {
    EXPECT_NE(help.find(name), std::string::npos) << name;
    EXPECT_EQ(command_error(std::string(name)).find("is no command"), std::string::npos) << name;
  }
}

TEST(ChatCommand, words_of_other_prompts_mean_commands) {
  EXPECT_EQ(command_of_word("exit"), "/exit");
  EXPECT_EQ(command_of_word(" quit "), "/quit");
  EXPECT_EQ(command_of_word("help"), "/help");
  for (const char* text :
       {"exit now", "help me", "Exit strategies", "bye", "", "\"\"\"exit\"\"\""}) {
    EXPECT_EQ(command_of_word(text), std::nullopt) << text;
  }
  EXPECT_NE(chat_help().find("exit, quit and help, typed alone"), std::string::npos);
}

TEST(ChatCommand, a_paste_of_several_lines_is_one_message) {
  const auto meant = [](const std::string& pasted) {
    const std::optional<std::string> message = message_of_paste(pasted);
    return message ? parse_chat_line(*message)->argument : "no message";
  };
  EXPECT_EQ(meant("one\ntwo"), "one\ntwo");
  EXPECT_EQ(meant("/* a comment */\nint x;"), "/* a comment */\nint x;");
  EXPECT_EQ(meant("/bye\n/clear"), "/bye\n/clear");
  EXPECT_EQ(meant("//one\n//two"), "//one\n//two");
  EXPECT_EQ(meant("exit\nquit"), "exit\nquit");
  EXPECT_EQ(meant("\"\"\"Doc.\n\"\"\"\nx = 1"), "\"\"\"Doc.\n\"\"\"\nx = 1");
  EXPECT_EQ(meant("\n\n  if x:\n    y()\n\n"), "  if x:\n    y()") << "indentation stays";
  // These count as typed: a single line, and commands that take a text.
  for (const char* typed :
       {"/bye", " /bye\n", "one", "/system Be\nbrief", "/context\na\nb", "/query a\nb"}) {
    EXPECT_EQ(message_of_paste(typed), std::nullopt) << typed;
  }
  EXPECT_EQ(parse_chat_line("/context\na\nb")->argument, "a\nb");
}

TEST(Completions, offer_commands_and_ids) {
  using Words = std::vector<std::string>;
  const Words ids = {"output_bb", "output_ab", "output_aa"};
  EXPECT_EQ(completions("/th", ids), Words{"/think"});
  EXPECT_EQ(completions("/c", ids), (Words{"/chunks", "/clear", "/context", "/continue"}));
  EXPECT_EQ(completions("/use-output output_a", ids), (Words{"output_aa", "output_ab"}));
  EXPECT_EQ(completions("/delete-output ", ids).size(), 3u);
  EXPECT_EQ(completions("/think o", ids), (Words{"off", "on"}));
  EXPECT_EQ(completions("/effort ", ids), (Words{"high", "low", "medium"}));
  EXPECT_EQ(completions("/output ", ids), Words{"all"});
  EXPECT_EQ(completions("plain text", ids), Words{});
  EXPECT_EQ(completions("", ids), Words{});
  EXPECT_EQ(completions("/system out", ids), Words{});
  EXPECT_EQ(completions("/use-output output_aa ", ids), Words{});
}

using Entry = std::optional<std::string>;

TEST(TextBlock, passes_single_lines_through) {
  TextBlock block;
  EXPECT_EQ(block.feed("hello"), Entry("hello"));
  EXPECT_EQ(block.feed(""), Entry(""));
  EXPECT_EQ(block.feed("say \"\"\" now"), Entry("say \"\"\" now"));
  EXPECT_FALSE(block.open());
}

TEST(TextBlock, joins_lines_between_quotes) {
  TextBlock block;
  EXPECT_EQ(block.feed("\"\"\""), std::nullopt);
  EXPECT_TRUE(block.open());
  EXPECT_EQ(block.feed("one"), std::nullopt);
  EXPECT_EQ(block.feed(""), std::nullopt);
  EXPECT_EQ(block.feed("two\"\"\"  "), Entry("one\n\ntwo"));
  EXPECT_FALSE(block.open());
  EXPECT_EQ(block.feed("\"\"\"first"), std::nullopt);
  EXPECT_EQ(block.feed("\"\"\""), Entry("first\n"));
  EXPECT_EQ(block.feed("\"\"\"all in one\"\"\""), Entry("all in one"));
}

TEST(TextBlock, is_an_argument_behind_a_command) {
  TextBlock block;
  EXPECT_EQ(block.feed("/system \"\"\"You are"), std::nullopt);
  EXPECT_EQ(block.feed("terse.\"\"\""), Entry("/system You are\nterse."));
  EXPECT_EQ(block.feed("/system You are \"\"\"quoted"), Entry("/system You are \"\"\"quoted"));
}

TEST(TextBlock, is_never_a_command_itself) {
  TextBlock block;
  EXPECT_EQ(block.feed("\"\"\"/bye"), std::nullopt);
  const Entry entry = block.feed("\"\"\"");
  ASSERT_TRUE(entry.has_value());
  const Result<ChatCommand> command = parse_chat_line(*entry);
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->verb, ChatVerb::kText);
  EXPECT_EQ(command->argument, "/bye");
}

TEST(TextBlock, is_forgotten_on_reset) {
  TextBlock block;
  (void)block.feed("\"\"\"lost");
  block.reset();
  EXPECT_EQ(block.feed("next"), Entry("next"));
}

}  // namespace
}  // namespace cascade::ctl
