// The chat against a fake daemon, with input as from a pipe.
#include "clients/ctl/chat.h"

#include <gtest/gtest.h>

#include <sstream>

#include "clients/ctl/run.h"
#include "tests/clients/chat_fixture.h"

namespace cascade::ctl {
namespace {

using client::testing::ChatDaemon;
using testing::Chat;
using testing::Outcome;

TEST(Chat, prints_only_results_when_piped) {
  Chat chat;
  const Outcome outcome =
      chat.run("/system You are terse\nWhat is the capital of France?\n/output\n");
  EXPECT_EQ(outcome.out,
            "Answer to What is the capital of France?\n"
            "#  Preview                                   Tokens   Memory  ID\n"
            "1  Answer to What is the capital of France?      40  2.0 KiB  " +
                ChatDaemon::output_id(1) + "\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.code, kExitOk);
}

TEST(Chat, a_turn_is_composed_of_the_outputs_before_it) {
  Chat chat;
  EXPECT_EQ(chat.run("/system s\nfirst\n/context a fact\nsecond\nthird\n").code, kExitOk);
  const std::string one = " OUTPUT:#" + ChatDaemon::output_id(1);
  const std::string two = " OUTPUT:#" + ChatDaemon::output_id(2);
  EXPECT_EQ(chat.composition(0), "SYSTEM_PROMPT:s QUERY:first");
  EXPECT_EQ(chat.composition(1), "SYSTEM_PROMPT:s" + one + " CONTEXT:a fact QUERY:second");
  EXPECT_EQ(chat.composition(2), "SYSTEM_PROMPT:s" + one + two + " QUERY:third");
  EXPECT_TRUE(chat.daemon.requests()[0].retain_output);
}

TEST(Chat, a_byte_order_mark_is_no_text) {
  Chat chat;
  EXPECT_EQ(chat.run("\xEF\xBB\xBF/system s\nfirst\n").code, kExitOk);
  EXPECT_EQ(chat.composition(0), "SYSTEM_PROMPT:s QUERY:first");
  const Outcome other = chat.run({"\xFF\xFE/\0\n\0b\0\n\0", 10});
  EXPECT_EQ(other.err, "error: invalid_argument: stdin: is UTF-16 or UTF-32; save it as UTF-8\n");
  EXPECT_EQ(other.code, kExitFailed);
  EXPECT_EQ(chat.daemon.compositions().size(), 1u) << "no line of it is sent";
}

TEST(Chat, says_which_turn_a_deleted_output_takes_along) {
  Chat chat;
  const Outcome outcome = chat.run("a\nb\n/delete-output output_2\nc\n/delete-output output_1\n");
  EXPECT_EQ(outcome.err,
            "The conversation goes on without the turn \"b\"; it ends with \"a\" now.\n"
            "The conversation goes on without the turn \"a\"; it ends with \"c\" now.\n");
  Chat one;
  EXPECT_EQ(one.run("a\n/delete-output output_1\n/delete-output output_1\n").err.substr(0, 67),
            "The conversation goes on without the turn \"a\"; it is empty now.\nerr");
  Chat others;
  EXPECT_EQ(others.run("a\n/clear\nb\n/delete-output output_1\n").err, "");
}

// This session is from the first description of the feature.
TEST(Chat, uses_an_output_by_its_number) {
  Chat chat;
  const Outcome outcome = chat.run(
      "/system You are a helpful assistant\n/query What is 2+2?\n/infer\n/output\n/clear\n"
      "/query Why did you say that?\n/use-output 1\n/infer\n");
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(chat.composition(1), "SYSTEM_PROMPT:You are a helpful assistant OUTPUT:#" +
                                     ChatDaemon::output_id(1) + " QUERY:Why did you say that?");
}

TEST(Chat, numbers_stay_while_outputs_come_and_go) {
  Chat chat;
  const Outcome outcome = chat.run(
      "a\nb\n/output\n/delete-output 1\n/clear\n/use-output 2\nc\n/use-output 1\n"
      "/delete-output output_2\n/output\n");
  const std::string two = "OUTPUT:#" + ChatDaemon::output_id(2);
  EXPECT_EQ(chat.composition(2), two + " QUERY:c");
  EXPECT_EQ(chat.daemon.chunk_count(), 1u);
  EXPECT_NE(outcome.out.find("1  Answer to c"), std::string::npos) << outcome.out;
  // The first output is deleted, so its number finds nothing.
  EXPECT_EQ(outcome.err,
            "The conversation goes on without the turn \"a\"; it ends with \"b\" now.\n"
            "error: not_found: id: no such chunk\n"
            "The conversation goes on without the turn \"b\"; it ends with \"c\" now.\n");
}

TEST(Chat, finds_outputs_by_number_and_by_the_beginning_of_their_id) {
  Chat chat;
  (void)chat.run("a\nb\n");
  const Outcome outcome = chat.run("/use-output output_2\n/output all\n/use-output 1\nc\n");
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(chat.composition(2), "OUTPUT:#" + ChatDaemon::output_id(2) + " OUTPUT:#" +
                                     ChatDaemon::output_id(1) + " QUERY:c");
  const Outcome wrong = chat.run("/use-output 9\n/use-output output_9\n");
  EXPECT_EQ(wrong.err,
            "error: not_found: 9: there are 0 outputs in this conversation; /output lists them, "
            "and /output all lists everybody's\nerror: not_found: id: no such chunk\n");
  EXPECT_EQ(wrong.code, kExitFailed);
  EXPECT_EQ(chat.run("/output all\n/use-output 9\n").err,
            "error: not_found: 9: there are 3 outputs; /output all lists them\n");
}

TEST(Chat, lists_the_outputs_of_this_conversation_or_everybodys) {
  Chat chat;
  (void)chat.run("somebody\nelse\n");
  const Outcome outcome = chat.run("a\nb\n/output\n/output all\n/clear\n/output\nc\n/output\n");
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string numbers;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("output_") != std::string::npos) numbers += line.substr(0, 14) + "|";
  }
  EXPECT_EQ(numbers,
            "1  Answer to a|2  Answer to b|"
            "1  Answer to s|2  Answer to e|3  Answer to a|4  Answer to b|"
            "1  Answer to c|");
  EXPECT_EQ(chat.run("/output mine\n").err,
            "error: invalid_argument: /output: must be followed by nothing, or by all\n");
}

TEST(Chat, a_number_means_what_the_last_list_said) {
  Chat chat;
  (void)chat.run("somebody\n");
  // Before any list is shown, numbers mean this conversation's outputs, so that people cannot
  // delete outputs that they have not seen.
  const Outcome outcome = chat.run("mine\n/delete-output 1\n/output all\n");
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  ASSERT_EQ(chat.daemon.chunk_count(), 1u);
  EXPECT_EQ(chat.daemon.chunks()[0].text, "Answer to somebody");
  EXPECT_EQ(chat.run("/output all\n/delete-output 1\n").code, kExitOk);
  EXPECT_EQ(chat.daemon.chunk_count(), 0u);
}

TEST(Chat, a_person_leaves_and_asks_for_help_with_words) {
  Chat chat;
  const Outcome help = chat.run("help\n", false, true);
  EXPECT_EQ(help.out, chat_help() + "To send the word help to the model, type \"\"\"help\"\"\".\n");
  const Outcome quit = chat.run("quit\nnever read\n", false, true);
  EXPECT_EQ(quit.out, "To send the word quit to the model, type \"\"\"quit\"\"\".\n");
  EXPECT_TRUE(chat.daemon.compositions().empty());
  (void)chat.run("\"\"\"exit\"\"\"\n\"\"\"\nhelp\n\"\"\"\n", false, true);
  EXPECT_EQ(chat.composition(0), "QUERY:exit");
  EXPECT_EQ(chat.composition(1), "OUTPUT:#" + ChatDaemon::output_id(1) + " QUERY:help");
}

TEST(Chat, words_alone_are_commands_in_a_pipe_too) {
  Chat chat;
  EXPECT_EQ(chat.run("one\nexit\ntwo\n").out, "Answer to one\n");
  EXPECT_EQ(chat.run("\"\"\"\nquit\n\"\"\"\nquit\ntwo\n").out, "Answer to quit\n");
  EXPECT_EQ(chat.run("help\nquitting\n").out, chat_help() + "Answer to quitting\n");
}

TEST(Chat, goes_on_behind_an_output_by_its_id) {
  Chat chat;
  (void)chat.run("a\nb\n");
  const Outcome outcome = chat.run("forget this\n/continue output_2\nc\nd\n/clear\ne\n");
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  const auto requests = chat.daemon.requests();
  ASSERT_EQ(requests.size(), 6u);
  EXPECT_EQ(requests[3].previous_output, ChatDaemon::output_id(2));
  EXPECT_EQ(chat.composition(3), "QUERY:c");
  EXPECT_EQ(requests[4].previous_output, ChatDaemon::output_id(2));
  EXPECT_EQ(chat.composition(4), "OUTPUT:#" + ChatDaemon::output_id(4) + " QUERY:d");
  EXPECT_EQ(requests[5].previous_output, "");
  EXPECT_EQ(chat.run("/continue output_9\n").code, kExitFailed);
}

TEST(Chat, goes_on_after_errors_and_remembers_them) {
  Chat chat;
  const Outcome outcome = chat.run("/nonsense\nfail\n/infer\nok\n/infer\n");
  EXPECT_EQ(outcome.out, "Answer to ok\n");
  EXPECT_EQ(outcome.err,
            "error: invalid_argument: /nonsense: is not a command; /help lists them\nerror: "
            "resource_exhausted: queue: is full\nerror: resource_exhausted: queue: is "
            "full\nerror: invalid_argument: /infer: there is no question: /query TEXT first\n");
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_EQ(chat.run("/nonsense\n/bye\nnever read", false, true).code, kExitOk);
}

TEST(Chat, reads_texts_of_many_lines) {
  Chat chat;
  const Outcome outcome = chat.run("\"\"\"one\ntwo\"\"\"\n/system \"\"\"\nbe\nbrief\n\"\"\"\nx\n");
  EXPECT_EQ(outcome.out, "Answer to one\ntwo\nAnswer to x\n");
  EXPECT_EQ(chat.composition(1),
            "SYSTEM_PROMPT:be\nbrief OUTPUT:#" + ChatDaemon::output_id(1) + " QUERY:x");
  const Outcome endless = chat.run("\"\"\"one\n");
  EXPECT_EQ(endless.err, "error: invalid_argument: \"\"\": the text that it begins has no end\n");
  EXPECT_EQ(endless.code, kExitFailed);
}

TEST(Chat, switches_thinking) {
  Chat chat;
  const Outcome outcome = chat.run("a\n/think on\nb\n/think off\nc\n/think hide\nd\n/think x\n");
  EXPECT_EQ(outcome.out, "Answer to a\n│ hm\n\nAnswer to b\nAnswer to c\nAnswer to d\n");
  const auto requests = chat.daemon.requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_FALSE(requests[0].thinking.has_value());
  EXPECT_EQ(requests[1].thinking, true);
  EXPECT_EQ(requests[2].thinking, false);
  EXPECT_EQ(requests[3].thinking, true);
  EXPECT_EQ(outcome.err, "error: invalid_argument: /think: must be on, off or hide\n");
}

TEST(Chat, sets_the_reasoning_effort) {
  Chat chat;
  const Outcome outcome = chat.run("a\n/effort low\nb\n/effort A lot\nc\n/effort\nd\n");
  const auto requests = chat.daemon.requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_FALSE(requests[0].reasoning_effort.has_value());
  EXPECT_EQ(requests[1].reasoning_effort, "low");
  EXPECT_EQ(requests[2].reasoning_effort, "low");
  EXPECT_FALSE(requests[3].reasoning_effort.has_value());
  EXPECT_EQ(outcome.err,
            "error: invalid_argument: /effort: must have 1 to 32 characters, each a to z, _ or -, "
            "such as \"high\"\n");
}

TEST(Chat, tells_a_person_what_was_reused) {
  Chat chat;
  const Outcome outcome =
      chat.run("a\n/output\n/clear\n/use-output 1\n/use-output 1\n/chunks\n", false, true);
  EXPECT_NE(
      outcome.out.find("│ hm\n\nAnswer to a\n(7 tokens reused, 3 prefilled, 3 generated, 0 us)\n"),
      std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("added to the conversation\nis part of the conversation already\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("◀ output"), std::string::npos) << outcome.out;
}

constexpr const char* kChunksGone =
    "The chunks of the earlier turns do not exist any more (deleted, expired, or in another "
    "state directory): the turns are sent as text.\n";

// Types lines one by one, so that other things may happen in between.
struct TypedChat {
  explicit TypedChat(Chat& chat, bool json = false)
      : screen{out, err, Style(false), false, json}, session(*chat.client, screen, {}) {}
  std::ostringstream out;
  std::ostringstream err;
  Screen screen;
  ChatSession session;
};

TEST(Chat, goes_on_as_text_when_the_daemon_has_lost_its_chunks) {
  Chat chat;
  TypedChat typed(chat);
  for (const char* line : {"/system s", "/context fact", "one", "two"}) typed.session.enter(line);
  chat.daemon.lose_chunks();
  typed.session.enter("three");
  EXPECT_EQ(typed.err.str(), kChunksGone);
  EXPECT_EQ(typed.out.str(), "Answer to one\nAnswer to two\nAnswer to three\n");
  typed.session.enter("four");
  EXPECT_EQ(typed.err.str(), kChunksGone) << "said once";
  EXPECT_EQ(typed.session.exit_code(), kExitOk);
  // The third composition is the refused one.
  EXPECT_EQ(chat.composition(3),
            "system:s user:fact\n\none assistant:Answer to one user:two assistant:Answer to two "
            "user:three");
  EXPECT_NE(chat.composition(4).find("user:three assistant:Answer to three user:four"),
            std::string::npos)
      << chat.composition(4);
  typed.session.enter("/clear");
  typed.session.enter("five");
  EXPECT_EQ(chat.composition(5), "SYSTEM_PROMPT:s QUERY:five");
}

TEST(Chat, knows_the_text_of_outputs_that_were_added_by_hand) {
  Chat chat;
  TypedChat typed(chat);
  for (const char* line : {"one", "/output all", "/clear", "/use-output 1"}) {
    typed.session.enter(line);
  }
  chat.daemon.lose_chunks();
  typed.session.enter("two");
  EXPECT_EQ(chat.composition(2), "user:one assistant:Answer to one user:two");
  EXPECT_EQ(typed.err.str(), kChunksGone);
}

TEST(Chat, tries_the_text_once_only_and_for_lost_chunks_only) {
  Chat chat;
  TypedChat typed(chat);
  typed.session.enter("one");
  typed.session.enter("fail");
  chat.daemon.lose_chunks();
  typed.session.enter("fail");
  EXPECT_EQ(typed.err.str(), std::string("error: resource_exhausted: queue: is full\n") +
                                 kChunksGone + "error: resource_exhausted: queue: is full\n");
  EXPECT_EQ(chat.daemon.compositions().size(), 4u);
  typed.session.enter("/infer");
  EXPECT_EQ(chat.composition(4), "user:one assistant:Answer to one user:fail");
}

TEST(Chat, ends_with_the_code_for_a_daemon_that_is_gone) {
  Chat chat;
  EXPECT_EQ(chat.run("lost\n").code, kExitUnreachable);
  EXPECT_EQ(chat.run("lost\nfail\nok\n").code, kExitUnreachable);
  EXPECT_EQ(chat.run("fail\n").code, kExitFailed);
}

TEST(Chat, refuses_what_is_not_text) {
  Chat chat;
  const Outcome outcome = chat.run("ab\xFF\n");
  EXPECT_EQ(outcome.err,
            "error: invalid_argument: stdin: is not UTF-8 at byte 2 of what was entered\n");
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_TRUE(chat.daemon.compositions().empty());
}

TEST(Chat, answers_everything_in_json_if_asked) {
  Chat chat;
  const Outcome outcome = chat.run("/help\n/?\n", true);
  std::istringstream lines(outcome.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(Json::parse(line)["help"], chat_help());
  }
  EXPECT_EQ(count, 2);
}

TEST(Chat, prints_json_lines_if_asked) {
  Chat chat;
  const Outcome outcome = chat.run("a\n/output\n/use-output 7\n/stats\n", true);
  std::istringstream lines(outcome.out);
  std::vector<Json> values;
  for (std::string line; std::getline(lines, line);) values.push_back(Json::parse(line));
  ASSERT_EQ(values.size(), 4u) << outcome.out;
  EXPECT_EQ(values[0]["text"], "Answer to a");
  EXPECT_EQ(values[1]["chunks"][0]["id"], ChatDaemon::output_id(1));
  EXPECT_EQ(values[2]["error"]["code"], "not_found");
  EXPECT_EQ(values[3]["model"], "demo\x1b[2J");
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(outcome.err, "");
}

TEST(Chat, shows_nothing_of_the_daemon_raw) {
  Chat chat;
  const Outcome outcome = chat.run("evil\x1b[2J\n/stats\n/output\n/use-output x\x1b[2J\n");
  EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos);
  EXPECT_NE(outcome.out.find("Answer to evil␛[2J\n"), std::string::npos);
}

}  // namespace
}  // namespace cascade::ctl
