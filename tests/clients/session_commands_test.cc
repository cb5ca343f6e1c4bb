// The session and policy commands against a fake daemon, and what they print.
#include "clients/ctl/session_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"
#include "clients/ctl/policy_commands.h"
#include "clients/ctl/run.h"
#include "clients/ctl/session_table.h"
#include "clients/ctl/units.h"
#include "tests/clients/chat_daemon.h"

namespace cascade::ctl {
namespace {

using client::testing::ChatDaemon;
using client::testing::FakeDaemon;
using client::testing::TempFolder;
using ::testing::HasSubstr;

const Style kUnstyled(false);

// A daemon with one session, whose second turn's output has been deleted, and with one policy.
class SessionsAndPolicies : public ::testing::Test {
 protected:
  static wire::SessionInfo info() { return {"trip\x1b[2J", 1'000'000, 2'000'000, 2}; }
  static Chunk output() {
    Chunk chunk;
    chunk.id = ChatDaemon::output_id(1);
    chunk.type = ChunkType::kOutput;
    chunk.query_text = "Capital\nof \x1b[2JFrance?";
    chunk.text = "Paris.";
    return chunk;
  }
  void answer(const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
    const wire::Message& message = envelope.message;
    if (std::holds_alternative<wire::SessionListRequest>(message)) {
      reply(wire::SessionListReply{{info()}});
    } else if (const auto* get = std::get_if<wire::SessionGet>(&message)) {
      if (get->id != "trip") return reply(wire::ErrorReply{not_found("id", "\x1b[2J is none"), 0});
      const std::vector<SessionTurn> turns = {{0, output().id}, {1, ChatDaemon::output_id(2)}};
      reply(wire::SessionReply{info(), turns, true});
    } else if (const auto* chunk = std::get_if<wire::ChunkGet>(&message)) {
      if (chunk_error_) return reply(wire::ErrorReply{*chunk_error_, 0});
      if (chunk->id == output().id) return reply(wire::ChunkReply{output()});
      reply(wire::ErrorReply{not_found("id", "has expired"), 0});
    } else if (const auto* remove = std::get_if<wire::SessionDelete>(&message)) {
      outputs_deleted_ = remove->outputs;
      reply(wire::SessionReply{info(), {}, true, deleted_outputs_});
    } else if (const auto* set = std::get_if<wire::PolicySet>(&message)) {
      reply(wire::PolicyReply{{{set->type, set->ttl_ms}}, true});
    } else {
      reply(wire::PolicyReply{{{ChunkType::kOutput, 604'800'000}}, true});
    }
  }
  Json printed_json() {
    const Json json = Json::parse(out_.str());
    out_.str("");
    return json;
  }

  TempFolder folder_;
  std::optional<Error> chunk_error_;
  std::atomic<bool> outputs_deleted_{false};
  std::vector<wire::SessionOutput> deleted_outputs_;
  FakeDaemon daemon_{folder_.endpoint(),
                     [this](const auto& message, const auto& reply) { answer(message, reply); }};
  client::Client client_ = *client::Client::connect(folder_.endpoint());
  std::ostringstream out_;
  std::ostringstream err_;
  Screen screen_{out_, err_, kUnstyled};
};

TEST_F(SessionsAndPolicies, list_prints_a_line_for_each) {
  EXPECT_EQ(run_session_list(client_, screen_, 7), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("trip␛[2J      2  " + format_time(1'000'000) + "  " +
                                    format_time(2'000'000) + "\n"));
  EXPECT_EQ(std::get<wire::SessionListRequest>(daemon_.received()[0].message).limit, 7);
}

TEST_F(SessionsAndPolicies, show_prints_turns_also_those_whose_output_is_gone) {
  EXPECT_EQ(run_session_show(client_, screen_, "trip"), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("turns:      2\n"));
  EXPECT_THAT(out_.str(), HasSubstr("\n#  Question                Answer  Output\n"
                                    "1  Capital of ␛[2JFrance?  Paris.  " +
                                    ChatDaemon::output_id(1) +
                                    "\n"
                                    "2  gone                    gone    " +
                                    ChatDaemon::output_id(2) + "\n"));
}

TEST_F(SessionsAndPolicies, show_prints_whole_texts_as_json) {
  screen_.json = true;
  EXPECT_EQ(run_session_show(client_, screen_, "trip"), kExitOk);
  const Json json = printed_json();
  EXPECT_EQ(json["session"]["turns"], 2);
  EXPECT_EQ(json["turns"][0]["number"], 0);
  EXPECT_EQ(json["turns"][0]["gone"], false);
  EXPECT_EQ(json["turns"][0]["query_text"], output().query_text);
  EXPECT_EQ(json["turns"][0]["text"], "Paris.");
  EXPECT_EQ(json["turns"][1]["output_id"], ChatDaemon::output_id(2));
  EXPECT_EQ(json["turns"][1]["gone"], true);
  EXPECT_FALSE(json["turns"][1].contains("text"));
  EXPECT_EQ(run_session_list(client_, screen_, 1000), kExitOk);
  EXPECT_EQ(printed_json()["sessions"][0]["id"], info().id);
}

TEST_F(SessionsAndPolicies, show_fails_if_an_output_cannot_be_asked_for) {
  chunk_error_ = Error{ErrorCode::kUnavailable, "", "the daemon stops"};
  EXPECT_EQ(run_session_show(client_, screen_, "trip"), kExitFailed);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("the daemon stops"));
}

TEST_F(SessionsAndPolicies, a_session_that_is_not_there_is_an_error) {
  EXPECT_EQ(run_session_show(client_, screen_, "other"), kExitFailed);
  EXPECT_EQ(err_.str(), "error: not_found: id: ␛[2J is none\n");
}

TEST_F(SessionsAndPolicies, delete_takes_the_outputs_along_if_it_is_asked_to) {
  EXPECT_EQ(run_session_delete(client_, screen_, {.name = "trip"}), kExitOk);
  EXPECT_EQ(out_.str(), "deleted trip␛[2J\n");
  EXPECT_FALSE(outputs_deleted_);
  out_.str("");
  screen_.json = true;
  EXPECT_EQ(run_session_delete(client_, screen_, {.name = "trip", .outputs = true}), kExitOk);
  EXPECT_TRUE(outputs_deleted_);
  EXPECT_EQ(printed_json()["deleted"], info().id);
}

TEST_F(SessionsAndPolicies, delete_lists_what_went_and_what_stays) {
  deleted_outputs_ = {{ChatDaemon::output_id(1), true},
                      {ChatDaemon::output_id(2), false, "the name \"\x1b[2J\", 2 others"}};
  EXPECT_EQ(run_session_delete(client_, screen_, {.name = "trip", .outputs = true}), kExitOk);
  EXPECT_EQ(out_.str(), "deleted trip␛[2J\n" + ChatDaemon::output_id(1) + " is gone\n" +
                            ChatDaemon::output_id(2) +
                            " stays, held by the name \"␛[2J\", 2 others\n");
  out_.str("");
  screen_.json = true;
  EXPECT_EQ(run_session_delete(client_, screen_, {.name = "trip", .outputs = true}), kExitOk);
  const Json json = printed_json();
  EXPECT_EQ(json["outputs"][0]["gone"], true);
  EXPECT_EQ(json["outputs"][1]["held_by"], "the name \"\x1b[2J\", 2 others");
}

TEST_F(SessionsAndPolicies, policies_are_listed_and_set) {
  EXPECT_EQ(run_policy_list(client_, screen_), kExitOk);
  EXPECT_EQ(out_.str(),
            "Type           Expires\n"
            "SYSTEM_PROMPT  never\n"
            "CONTEXT        never\n"
            "OUTPUT         after 7d\n"
            "QUERY          never\n"
            "SUMMARY        never\n");
  out_.str("");
  EXPECT_EQ(run_policy_set(client_, screen_, {ChunkType::kQuery, 90'000}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("QUERY          after 90s\n"));
  out_.str("");
  screen_.json = true;
  EXPECT_EQ(run_policy_list(client_, screen_), kExitOk);
  EXPECT_EQ(out_.str(), "{\"policies\":[{\"type\":\"OUTPUT\",\"ttl_ms\":604800000}]}\n");
}

TEST(SessionTable, shows_whole_names_and_cuts_texts) {
  const std::string name(128, 'n');
  EXPECT_THAT(render_sessions({{name, 0, 0, 1}}, kUnstyled), HasSubstr(name + "      1"));
  Chunk output;
  output.query_text = output.text = std::string(100, 'x');
  const std::string shown = render_session(
      {name, 0, 0, 1}, {{{0, "output_0123456789abcdef"}, output}}, Ids::kShort, kUnstyled);
  EXPECT_THAT(shown, HasSubstr(name));
  EXPECT_THAT(shown, HasSubstr("1  " + std::string(39, 'x') + "…  " + std::string(39, 'x') +
                               "…  output_01234567\n"));
}

TEST(SessionTable, names_what_prompts_lack_and_what_they_have_for_it) {
  wire::SessionInfo session = {"trip", 0, 0, 9};
  session.on_overflow = OnOverflow::kRetrieve;
  session.left_out_turns = 5;
  session.retrieved = {{"output_1", 60}, {"output_2", 7}};
  session.summarised = Summarised{4, {"chunk_1", "chunk_2"}};
  const std::string shown = render_session(session, {}, Ids::kShort, kUnstyled);
  EXPECT_THAT(shown, HasSubstr("retrieve\n"));
  EXPECT_THAT(shown, HasSubstr("turns 1 to 5, for lack of room\n"));
  EXPECT_THAT(shown, HasSubstr("parts of 2 turns, 67 tokens, for the newest question\n"));
  EXPECT_THAT(shown, HasSubstr("4 turns in 2 summaries\n"));
}

TEST(Units, times_to_live_are_printed_as_they_are_typed) {
  EXPECT_EQ(format_ttl(604'800'000), "7d");
  EXPECT_EQ(format_ttl(129'600'000), "36h");
  EXPECT_EQ(format_ttl(600'000), "10m");
  EXPECT_EQ(format_ttl(90'000), "90s");
  EXPECT_EQ(format_ttl(1'500), "1500ms");
}

}  // namespace
}  // namespace cascade::ctl
