// How long the daemon keeps the outputs of a chat: none, those that a person wants, all, or a
// session.
#include "clients/ctl/chat_retention.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/clients/chat_fixture.h"

namespace cascade::ctl {
namespace {

using client::testing::ChatDaemon;
using testing::Chat;
using testing::Outcome;

TEST(ChatRetention, goes_on_without_outputs_where_none_are_kept) {
  Chat chat;
  const Outcome outcome =
      chat.run_with({.params = {}, .system = "s", .interactive = true, .retain = Retain::kNever},
                    "/context a fact\none\ntwo\n/output\n/clear\nthree\n");
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(chat.composition(0), "system:s user:a fact\n\none");
  EXPECT_EQ(chat.composition(1),
            "system:s user:a fact\n\none assistant:Answer to a fact\n\none user:two");
  EXPECT_EQ(chat.composition(2), "system:s user:three");
  for (const wire::GenerateRequest& request : chat.daemon.requests()) {
    EXPECT_FALSE(request.retain_output);
    EXPECT_FALSE(request.output_ttl_ms.has_value());
  }
  EXPECT_EQ(chat.daemon.chunk_count(), 0u);
  EXPECT_NE(outcome.out.find("none; answers are not kept (--retain never)\n"), std::string::npos)
      << outcome.out;
  EXPECT_TRUE(chat.questions.empty());
}

TEST(ChatRetention, without_outputs_of_its_own_uses_those_of_others) {
  Chat chat;
  (void)chat.run("fact\nother\n");
  const ChatSettings never = {.params = {}, .system = "", .retain = Retain::kNever};
  EXPECT_EQ(chat.run_with(never, "/use-output output_1\nx\n").code, kExitOk);
  EXPECT_EQ(chat.composition(2), "user:fact assistant:Answer to fact user:x");
  EXPECT_EQ(chat.run_with(never, "/continue output_2\ny\nz\n").code, kExitOk);
  EXPECT_EQ(chat.daemon.requests()[4].previous_output, ChatDaemon::output_id(2));
  EXPECT_EQ(chat.composition(4), "user:y assistant:Answer to y user:z");
}

TEST(ChatRetention, gives_outputs_the_time_to_live_that_was_asked_for) {
  Chat chat;
  client::GenerateParams params;
  params.output_ttl_ms = 7'200'000;
  EXPECT_EQ(chat.run_with({.params = params, .system = ""}, "a\n").code, kExitOk);
  EXPECT_EQ(chat.daemon.requests()[0].output_ttl_ms, 7'200'000);
  EXPECT_TRUE(chat.daemon.requests()[0].retain_output);
}

constexpr int64_t kDayMs = 86'400'000;

ChatSettings asking() {
  return {.params = {}, .system = "", .interactive = true, .retain = Retain::kAsk};
}

TEST(ChatRetention, asks_at_the_end_and_keeps_what_a_person_wants) {
  Chat chat;
  const Outcome outcome = chat.run_with(asking(), "a\nb\n/bye\nperhaps\ny\n");
  EXPECT_EQ(chat.daemon.requests()[0].output_ttl_ms, kDayMs) << "until somebody answers";
  EXPECT_EQ(chat.questions, (std::vector<std::string>(2, "Keep what it made? [y/n] ")));
  EXPECT_EQ(
      chat.daemon.times_to_live(),
      (std::vector<std::string>{ChatDaemon::output_id(1) + " 0", ChatDaemon::output_id(2) + " 0"}));
  EXPECT_EQ(chat.daemon.chunk_count(), 2u);
  EXPECT_NE(outcome.out.find("This conversation made 2 outputs.\nkept 2 outputs\n"),
            std::string::npos)
      << outcome.out;
}

TEST(ChatRetention, what_is_kept_lives_as_long_as_it_would_have_without_a_question) {
  Chat chat;
  chat.daemon.set_policy(3 * kDayMs);
  (void)chat.run_with(asking(), "a\n/bye\ny\n");
  ChatSettings short_lived = asking();
  short_lived.params.output_ttl_ms = 3'600'000;
  const Outcome outcome = chat.run_with(short_lived, "b\n/bye\nyes\n");
  EXPECT_EQ(chat.daemon.times_to_live(),
            (std::vector<std::string>{ChatDaemon::output_id(1) + " 259200000",
                                      ChatDaemon::output_id(2) + " 3600000"}));
  EXPECT_EQ(chat.daemon.requests()[1].output_ttl_ms, 3'600'000);
  EXPECT_NE(outcome.out.find("kept 1 output for 1h\n"), std::string::npos) << outcome.out;
}

TEST(ChatRetention, deletes_what_a_person_does_not_want) {
  Chat chat;
  (void)chat.run("somebody\n");
  const Outcome outcome =
      chat.run_with(asking(), "a\nb\nc\n/use-output output_1\n/delete-output output_3\n/bye\nn\n");
  EXPECT_NE(outcome.out.find("This conversation made 2 outputs.\ndeleted 2 outputs\n"),
            std::string::npos)
      << outcome.out;
  ASSERT_EQ(chat.daemon.chunk_count(), 1u) << "what it did not make stays";
  EXPECT_EQ(chat.daemon.chunks()[0].text, "Answer to somebody");
}

// A conversation whose outputs nobody wants to keep, step by step.
class UnwantedOutputs : public ::testing::Test {
 protected:
  static ChatSettings settings() {
    ChatSettings settings = asking();
    settings.ask = [](const std::string&) { return "n"; };
    return settings;
  }

  Chat chat_;
  std::ostringstream out_;
  Screen screen_{out_, out_, Style(false), true, false};
  ChatSession session_{*chat_.client, screen_, settings()};
};

TEST_F(UnwantedOutputs, stay_if_they_were_kept_elsewhere_as_well) {
  session_.enter("a");
  session_.enter("b");
  chat_.daemon.register_again(ChatDaemon::output_id(1));
  session_.end();
  ASSERT_EQ(chat_.daemon.chunk_count(), 1u);
  EXPECT_EQ(chat_.daemon.chunks()[0].text, "Answer to a");
  EXPECT_NE(out_.str().find("deleted 1 output; 1 output stays: kept elsewhere, too\n"),
            std::string::npos)
      << out_.str();
}

TEST_F(UnwantedOutputs, are_said_to_stay_if_somebody_else_holds_them) {
  for (const char* text : {"a", "b", "c"}) session_.enter(text);
  chat_.daemon.give_name(ChatDaemon::output_id(1), "best");
  chat_.daemon.give_name(ChatDaemon::output_id(2), "mine");
  session_.enter("/delete-output 2");
  EXPECT_NE(out_.str().find("given up " + ChatDaemon::output_id(2)), std::string::npos)
      << out_.str();
  EXPECT_NE(out_.str().find("held by the name \"mine\""), std::string::npos) << out_.str();
  session_.end();
  EXPECT_EQ(chat_.daemon.chunk_count(), 2u);
  EXPECT_NE(out_.str().find("deleted 1 output; 1 output stays: kept elsewhere, too\n"),
            std::string::npos)
      << out_.str();
}

TEST(ChatRetention, every_end_of_a_conversation_is_asked_about_and_no_answer_deletes_nothing) {
  Chat chat;
  const Outcome outcome = chat.run_with(
      asking(), "a\n/clear\nn\nb\n/continue output_2\ny\n/clear\nc\n");  // the input ends here
  EXPECT_EQ(chat.questions.size(), 3u) << "none where nothing was made";
  EXPECT_EQ(chat.daemon.times_to_live(), std::vector<std::string>{ChatDaemon::output_id(2) + " 0"});
  EXPECT_EQ(chat.daemon.chunk_count(), 2u);
  EXPECT_NE(outcome.out.find("No answer: 1 output will expire within 1d.\n"), std::string::npos)
      << outcome.out;
}

ChatSettings in_session(const std::string& name) {
  ChatSettings settings;
  settings.params.session = name;
  settings.interactive = true;
  return settings;
}

TEST(ChatInSession, makes_turns_of_a_session) {
  Chat chat;
  const Outcome outcome =
      chat.run_with(in_session("trip"), "/system s\nfirst\n/context fact\nsecond\n/output\n");
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(chat.composition(0), "SYSTEM_PROMPT:s QUERY:first");
  EXPECT_EQ(chat.composition(1), "SYSTEM_PROMPT:s CONTEXT:fact QUERY:second")
      << "the daemon has the first turn";
  for (const auto& request : chat.daemon.requests()) EXPECT_EQ(request.session, "trip");
  EXPECT_NE(outcome.out.find("1  Answer to first"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("2  Answer to second"), std::string::npos) << outcome.out;
  // A later chat of the session, after others have made outputs.
  (void)chat.run("somebody\n");
  const Outcome later = chat.run_with(in_session("trip"), "third\n/output\n");
  EXPECT_NE(later.out.find("3  Answer to third"), std::string::npos) << later.out;
  EXPECT_EQ(later.out.find("somebody"), std::string::npos) << later.out;
  EXPECT_EQ(chat.run_with(in_session("new"), "/output\n").out, "none\n");
  const std::string deleted = chat.run_with(in_session("trip"), "/delete-output 1\n/output\n").out;
  EXPECT_TRUE(deleted.ends_with("1 output is gone\n")) << deleted;
}

TEST(ChatInSession, leaves_a_session_and_says_so) {
  Chat chat;
  const Outcome outcome = chat.run_with(in_session("trip"), "a\n/clear\nb\n");
  EXPECT_NE(outcome.out.find("new conversation, outside session trip\n"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(chat.daemon.requests()[1].session, "");
  const Outcome gone_on = chat.run_with(in_session("trip"), "/continue output_2\nc\n");
  EXPECT_NE(gone_on.out.find("no turns of session trip from here on\n"), std::string::npos)
      << gone_on.out;
  EXPECT_EQ(chat.daemon.requests()[2].session, "");
  EXPECT_EQ(chat.daemon.requests()[2].previous_output, ChatDaemon::output_id(2));
}

TEST(ChatInSession, an_output_in_a_session_stands_before_the_next_turn_alone) {
  Chat chat;
  (void)chat.run("fact\n");
  const Outcome outcome = chat.run_with(in_session("trip"), "/use-output output_1\na\nb\n");
  EXPECT_NE(outcome.out.find("added to the next turn only; a session keeps only its own turns\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(chat.composition(1), "OUTPUT:#" + ChatDaemon::output_id(1) + " QUERY:a");
  EXPECT_EQ(chat.composition(2), "QUERY:b");
  // An output that has been deleted meanwhile is reported once and does not block later turns.
  const std::string input = "/use-output output_1\n/delete-output output_1\nc\n";
  EXPECT_EQ(chat.run_with(in_session("trip"), input).err,
            "The next turn of session trip goes on without \"fact\".\n");
}

TEST(ChatInSession, names_the_session_of_a_turn_in_json) {
  Chat chat;
  ChatSettings settings = in_session("trip");
  settings.interactive = false;
  const Outcome outcome = chat.run_with(settings, "a\n", /*json=*/true);
  EXPECT_EQ(Json::parse(outcome.out)["session"], "trip");
  EXPECT_FALSE(Json::parse(chat.run("a\n", true).out).contains("session"));
}

}  // namespace
}  // namespace cascade::ctl
