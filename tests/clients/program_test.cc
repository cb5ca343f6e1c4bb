// cascadectl as a whole, in its own process, against a fake daemon.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "clients/ctl/loading_wait.h"
#include "tests/clients/chat_daemon.h"
#include "tests/clients/program.h"
#include "tests/clients/program_on_pipes.h"

namespace cascade::ctl {
namespace {

using client::testing::ChatDaemon;
using client::testing::TempFolder;
using testing::PipeOutcome;
using testing::Program;
using testing::ProgramArguments;
using testing::run_on_pipes;

TEST(Program, answers_a_prompt) {
  const PipeOutcome outcome = run_on_pipes({"generate", "What is 2+2?", "--system", "s"}, "");
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, "Answer to What is 2+2?\n");
  EXPECT_EQ(outcome.err, "");
  ASSERT_EQ(outcome.compositions.size(), 1u);
  EXPECT_EQ(outcome.compositions[0], "SYSTEM_PROMPT:s QUERY:What is 2+2?");
}

TEST(Program, reads_the_prompt_from_stdin) {
  const PipeOutcome outcome = run_on_pipes({"generate", "--retain"}, "two\nlines\n");
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, "Answer to two\nlines\n");
  EXPECT_EQ(outcome.err, "retained " + ChatDaemon::output_id(1) + "\n");
}

TEST(Program, prints_a_generation_as_one_json_object) {
  const PipeOutcome outcome = run_on_pipes({"generate", "x", "--json", "--logprobs"}, "");
  EXPECT_EQ(outcome.code, kExitOk);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["text"], "Answer to x");
  EXPECT_EQ(json["logprobs"].size(), 3u);
  EXPECT_EQ(json["usage"]["reused_tokens"], 7);
}

TEST(Program, says_which_session_an_answer_is_a_turn_of) {
  const PipeOutcome text = run_on_pipes({"generate", "x", "--session", "trip"}, "");
  EXPECT_EQ(text.code, kExitOk);
  EXPECT_EQ(text.out, "Answer to x\n");
  EXPECT_EQ(text.err, "a turn of session trip\nretained " + ChatDaemon::output_id(1) + "\n");
  const PipeOutcome json = run_on_pipes({"generate", "x", "--session", "trip", "--json"}, "");
  EXPECT_EQ(Json::parse(json.out)["session"], "trip");
  const PipeOutcome none = run_on_pipes({"generate", "x", "--retain", "--json"}, "");
  EXPECT_FALSE(Json::parse(none.out).contains("session"));
}

TEST(Program, prints_a_stream_as_json_lines) {
  const PipeOutcome outcome = run_on_pipes({"generate", "x", "--json", "--stream"}, "");
  EXPECT_EQ(outcome.code, kExitOk);
  std::istringstream lines(outcome.out);
  std::string events;
  for (std::string line; std::getline(lines, line);) {
    events += std::string(Json::parse(line)["event"]) + " ";
  }
  EXPECT_EQ(events, "accepted delta delta delta final ");
}

TEST(Program, answers_a_batch_in_the_order_of_its_lines) {
  std::string input;
  std::string expected;
  for (int i = 1; i <= 70; ++i) {  // more than run at once
    input += "question " + std::to_string(i) + "\n";
    expected += "[line " + std::to_string(i) + "]\nAnswer to question " + std::to_string(i) + "\n";
  }
  const PipeOutcome outcome = run_on_pipes({"generate", "--batch", "-"}, input);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, expected);
  EXPECT_EQ(outcome.compositions.size(), 70u);
}

TEST(Program, prints_a_batch_as_json_lines) {
  const PipeOutcome outcome = run_on_pipes({"generate", "--batch", "-", "--json"},
                                           "a\nfail\n\n{\"query\": \"b\", \"logprobs\": true}\n");
  EXPECT_EQ(outcome.code, kExitFailed);
  std::istringstream lines(outcome.out);
  std::vector<Json> results;
  for (std::string line; std::getline(lines, line);) results.push_back(Json::parse(line));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["line"], 1);
  EXPECT_EQ(results[0]["text"], "Answer to a");
  EXPECT_EQ(results[1]["line"], 2);
  EXPECT_EQ(results[1]["error"]["field"], "queue");
  EXPECT_EQ(results[2]["line"], 4);
  EXPECT_EQ(results[2]["logprobs"].size(), 3u);
}

TEST(Program, says_that_a_limit_cut_the_answer) {
  const PipeOutcome whole = run_on_pipes({"generate", "x", "--max-tokens", "4"}, "");
  EXPECT_EQ(whole.code, kExitOk);
  EXPECT_EQ(whole.err, "");
  const PipeOutcome cut = run_on_pipes({"generate", "x", "--max-tokens", "3"}, "");
  EXPECT_EQ(cut.code, kExitCut);
  EXPECT_EQ(cut.out, "Answer to x\n");
  EXPECT_EQ(cut.err, "warning: the answer was cut off after 3 tokens by --max-tokens 3\n");
  // Here the daemon's own limit, or the end of the context, cut the answer, and not the option.
  const PipeOutcome unasked = run_on_pipes({"generate", "endless"}, "");
  EXPECT_EQ(unasked.code, kExitCut);
  EXPECT_NE(unasked.err.find("--max-tokens asks for more"), std::string::npos) << unasked.err;
  const PipeOutcome full = run_on_pipes({"generate", "endless", "--max-tokens", "9"}, "");
  EXPECT_EQ(full.code, kExitCut);
  EXPECT_NE(full.err.find("by the end of the model's context"), std::string::npos) << full.err;
}

TEST(Program, says_that_a_limit_cut_the_answer_whatever_its_form) {
  for (const ProgramArguments& more :
       {ProgramArguments{"--json"}, ProgramArguments{"--json", "--stream"},
        ProgramArguments{"--json-object"}, ProgramArguments{"--stream"}}) {
    ProgramArguments arguments = {"generate", "x", "--max-tokens", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const PipeOutcome outcome = run_on_pipes(arguments, "");
    EXPECT_EQ(outcome.code, kExitCut) << more.front();
    EXPECT_NE(outcome.err.find("was cut off after 3 tokens"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("form that was asked for") != std::string::npos,
              more.front() == "--json-object");
  }
}

TEST(Program, says_which_lines_of_a_batch_were_cut) {
  const std::string lines = "a\n{\"query\": \"b\", \"max_tokens\": 2}\nendless\n";
  const PipeOutcome outcome = run_on_pipes({"generate", "--batch", "-"}, lines);
  EXPECT_EQ(outcome.code, kExitCut);
  EXPECT_EQ(outcome.err.find("line 1"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("warning: line 2: the answer was cut off after 3 tokens by"),
            std::string::npos);
  EXPECT_NE(outcome.err.find("warning: line 3: the answer was cut off"), std::string::npos);
  // A failed line determines the exit code, wherever that line is.
  EXPECT_EQ(run_on_pipes({"generate", "--batch", "-"}, "endless\nfail\nb\n").code, kExitFailed);
  EXPECT_EQ(run_on_pipes({"generate", "--batch", "-", "--json"}, "fail\nendless\n").code,
            kExitFailed);
}

TEST(Program, says_how_to_answer_without_a_chunk_that_is_gone) {
  const PipeOutcome gone = run_on_pipes({"generate", "x", "--chunk", "output_none"}, "");
  EXPECT_EQ(gone.err,
            "error: not_found: --chunk: no such chunk; --on-missing skip answers without it\n");
}

TEST(Program, sends_nothing_of_a_batch_with_a_wrong_line) {
  const PipeOutcome outcome = run_on_pipes({"generate", "--batch", "-"}, "a\n{\"query\": 1}\n");
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_NE(outcome.err.find("line 2, query"), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.compositions.empty());
  EXPECT_EQ(run_on_pipes({"generate", "--batch", "-"}, "\n").code, kExitUsage);
  const PipeOutcome missing = run_on_pipes({"generate", "--batch", "no/such/file"}, "");
  EXPECT_EQ(missing.code, kExitFailed);
  EXPECT_NE(missing.err.find("no/such/file"), std::string::npos) << missing.err;
}

TEST(Program, tells_a_failed_request_from_a_wrong_one) {
  const PipeOutcome failed = run_on_pipes({"generate", "fail"}, "");
  EXPECT_EQ(failed.code, kExitFailed);
  EXPECT_EQ(failed.err, "error: resource_exhausted: queue: is full\n");
  const PipeOutcome wrong = run_on_pipes({"generate", "x", "--top-p", "7"}, "");
  EXPECT_EQ(wrong.code, kExitUsage);
  EXPECT_NE(wrong.err.find("--top-p"), std::string::npos);
  EXPECT_EQ(run_on_pipes({"generate"}, "").code, kExitUsage);
  const PipeOutcome binary = run_on_pipes({"generate"}, "ab\xFF");
  EXPECT_EQ(binary.code, kExitUsage);
  EXPECT_EQ(binary.err,
            "error: invalid_argument: stdin: is not UTF-8 at byte 2; save it as UTF-8\n");
  const PipeOutcome json = run_on_pipes({"generate", "fail", "--json"}, "");
  EXPECT_EQ(json.code, kExitFailed);
  EXPECT_EQ(Json::parse(json.out)["error"]["field"], "queue");
}

const std::vector<wire::Loading> kLoadingSteps = {{0, 0}, {41, 100}, {99, 100}};

// Runs the program against a daemon that loads its model first.
PipeOutcome run_while_it_loads(ProgramArguments arguments) {
  const TempFolder folder;
  arguments.insert(arguments.end(), {"--endpoint", folder.endpoint()});
  Program program(arguments, folder.path(), Program::On::kPipes);
  ChatDaemon daemon(folder.endpoint());
  daemon.set_loading(kLoadingSteps);
  program.start();
  program.close_input();
  const int code = program.finish();
  return {code, program.out(), program.err(), daemon.compositions()};
}

TEST(Program, waits_for_a_daemon_that_loads_its_model) {
  const PipeOutcome text = run_while_it_loads({"generate", "x"});
  EXPECT_EQ(text.code, kExitOk);
  EXPECT_EQ(text.out, "Answer to x\n");
  EXPECT_EQ(text.err, "the daemon does not serve yet: it is loading; waiting for it\n");
  const PipeOutcome json = run_while_it_loads({"generate", "x", "--json"});
  EXPECT_EQ(json.code, kExitOk);
  EXPECT_EQ(Json::parse(json.out)["text"], "Answer to x");
  EXPECT_EQ(json.err, "");
}

TEST(Program, status_of_a_daemon_that_loads_is_not_waited_for) {
  const PipeOutcome text = run_while_it_loads({"status"});
  EXPECT_EQ(text.code, kExitOk);
  EXPECT_EQ(text.out, "loading\n");
  const PipeOutcome json = run_while_it_loads({"status", "--json"});
  EXPECT_EQ(json.code, kExitOk);
  EXPECT_EQ(
      Json::parse(json.out),
      Json::parse(R"({"state": "loading", "percent": null, "done_bytes": 0, "total_bytes": 0})"));
}

TEST(LoadingBar, shows_the_share) {
  EXPECT_EQ(loading_bar({0, 0}), "");
  EXPECT_EQ(loading_bar({0, 100}), "[........................] 0 %");
  EXPECT_EQ(loading_bar({41, 100}), "[#########...............] 41 %");
  EXPECT_EQ(loading_bar({100, 100}), "[#######################.] 99 %");
  EXPECT_EQ(loading_bar({500, 100}), "[#######################.] 99 %");
  EXPECT_EQ(loading_bar({-1, 100}), "[........................] 0 %");
}

TEST(Program, says_where_it_looked_for_a_daemon) {
  const TempFolder folder;
  ::unsetenv("CASCADE_ENDPOINT");
  ::setenv("RUNTIME_DIRECTORY", folder.path().c_str(), 1);
  Program program({"status"}, folder.path(), Program::On::kPipes);
  ::unsetenv("RUNTIME_DIRECTORY");
  program.start();
  // A daemon at one of the other places would answer.
  if (program.finish() != kExitUnreachable) GTEST_SKIP() << "there is a daemon";
  EXPECT_NE(program.err().find("Looked at " + folder.endpoint() + ", "), std::string::npos)
      << program.err();
  EXPECT_NE(program.err().find("ipc:///run/cascaded/cascaded.sock"), std::string::npos);
}

TEST(Program, says_how_to_start_a_daemon_when_there_is_none) {
  const TempFolder folder;
  Program program({"status", "--endpoint", folder.endpoint()}, folder.path(), Program::On::kPipes);
  program.start();
  EXPECT_EQ(program.finish(), kExitUnreachable);
  EXPECT_NE(
      program.err().find("no daemon answers at " + folder.endpoint() + ": there is no such socket"),
      std::string::npos)
      << program.err();
  EXPECT_NE(program.err().find("systemctl start cascaded"), std::string::npos);
}

// The exit code of a run without a daemon.
int code_without_daemon(ProgramArguments arguments) {
  const TempFolder folder;
  Program program(std::move(arguments), folder.path(), Program::On::kPipes);
  program.start();
  program.type("question\n");
  program.close_input();
  return program.finish();
}

TEST(Program, has_one_exit_code_for_each_kind_of_end_whatever_the_command) {
  const std::vector<ProgramArguments> commands = {{"status"},
                                                  {"generate", "x"},
                                                  {"chat"},
                                                  {"chunk", "list"},
                                                  {"chunk", "show", "output_1"},
                                                  {"chunk", "delete", "output_1"}};
  const TempFolder folder;
  for (const ProgramArguments& command : commands) {
    const auto with = [&](const char* endpoint) {
      ProgramArguments arguments = command;
      arguments.insert(arguments.end(), {"--endpoint", endpoint});
      return arguments;
    };
    EXPECT_EQ(code_without_daemon(with(folder.endpoint().c_str())), kExitUnreachable)
        << command.front();
    EXPECT_EQ(code_without_daemon(with("foo")), kExitUsage) << command.front();
    EXPECT_EQ(code_without_daemon(with("ipc://")), kExitUsage) << command.front();
  }
  EXPECT_EQ(run_on_pipes({"generate", "lost"}, "").code, kExitUnreachable);
  EXPECT_EQ(run_on_pipes({"chat"}, "lost\nok\n").code, kExitUnreachable);
  EXPECT_EQ(run_on_pipes({"chat", "--top-p", "7"}, "x\n").code, kExitUsage);
  EXPECT_EQ(code_without_daemon({"generate", "x", "--top-p", "7"}), kExitUsage);
}

TEST(Program, says_what_is_wrong_with_an_endpoint_and_nothing_of_daemons) {
  const TempFolder folder;
  Program program({"status", "--endpoint", "foo"}, folder.path(), Program::On::kPipes);
  program.start();
  EXPECT_EQ(program.finish(), kExitUsage);
  EXPECT_EQ(program.err(),
            "error: invalid_argument: endpoint: must be ipc://PATH or tcp://HOST:PORT, got foo\n");
}

TEST(Program, chats_through_a_pipe) {
  const PipeOutcome outcome =
      run_on_pipes({"chat"}, "/system You are terse\nWhat is the capital of France?\n/bye\n");
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, "Answer to What is the capital of France?\n");
  EXPECT_EQ(outcome.err, "");
  const PipeOutcome failing = run_on_pipes({"chat"}, "fail\nafter\n");
  EXPECT_EQ(failing.code, kExitFailed);
  EXPECT_EQ(failing.out, "Answer to after\n");
}

TEST(Program, lists_shows_uses_and_deletes_chunks) {
  const TempFolder folder;
  const auto program = [&](ProgramArguments arguments) {
    arguments.insert(arguments.end(), {"--endpoint", folder.endpoint()});
    return std::make_unique<Program>(arguments, folder.path(), Program::On::kPipes);
  };
  const auto make = program({"generate", "a", "--retain"});
  const auto list = program({"chunk", "list", "--type", "output"});
  const auto list_json = program({"chunk", "list", "--json"});
  const auto show = program({"chunk", "show", "output_1"});
  const auto use = program({"generate", "b", "--chunk", "output_1", "--context", "fact"});
  const auto remove = program({"chunk", "delete", "output_1", "output_9"});
  const ChatDaemon daemon(folder.endpoint());
  const auto finish = [](const std::unique_ptr<Program>& started) {
    started->start();
    return started->finish();
  };
  EXPECT_EQ(finish(make), kExitOk);
  EXPECT_EQ(finish(list), kExitOk);
  EXPECT_NE(list->out().find("◀ output  OUTPUT  Answer to a"), std::string::npos) << list->out();
  EXPECT_EQ(finish(list_json), kExitOk);
  EXPECT_EQ(Json::parse(list_json->out())["chunks"][0]["id"], ChatDaemon::output_id(1));
  EXPECT_EQ(finish(show), kExitOk);
  EXPECT_NE(show->out().find("\nText\nAnswer to a\n"), std::string::npos) << show->out();
  EXPECT_EQ(finish(use), kExitOk);
  EXPECT_EQ(daemon.compositions().back(),
            "OUTPUT:#" + ChatDaemon::output_id(1) + " CONTEXT:fact QUERY:b");
  EXPECT_EQ(finish(remove), kExitFailed);
  EXPECT_EQ(remove->out(), "deleted " + ChatDaemon::output_id(1) + "; ended: a retention\n");
  EXPECT_EQ(remove->err(), "error: not_found: id: no such chunk\n");
  EXPECT_EQ(daemon.chunk_count(), 0u);
}

TEST(Program, stops_a_generation_on_interrupt) {
  const TempFolder folder;
  Program program({"generate", "hang", "--stream", "--endpoint", folder.endpoint()}, folder.path(),
                  Program::On::kPipes);
  const ChatDaemon daemon(folder.endpoint());
  program.start();
  program.expect("still ");
  program.interrupt();
  EXPECT_EQ(program.finish(), kExitFailed);
  EXPECT_EQ(program.out(), "still \n");
}

struct Terminal {
  Terminal()
      : program({"chat", "--endpoint", folder.endpoint()}, folder.path(), Program::On::kTerminal),
        daemon(folder.endpoint()) {
    program.start();
    program.expect("/help lists the commands.");
    program.expect_prompt();
  }
  TempFolder folder;
  Program program;  // constructed before the daemon, because it forks
  ChatDaemon daemon;
};

TEST(ProgramOnTerminal, prompts_streams_and_remarks) {
  Terminal terminal;
  terminal.program.type("hello\n");
  terminal.program.expect("│ hm");
  terminal.program.expect("Answer to hello");
  terminal.program.expect("(7 tokens reused, 3 prefilled, 3 generated");
  terminal.program.expect_prompt();
  terminal.program.type("\x04");
  EXPECT_EQ(terminal.program.finish(), kExitOk);
}

TEST(ProgramOnTerminal, shows_how_far_the_load_is_and_takes_it_away) {
  const TempFolder folder;
  Program program({"generate", "x", "--endpoint", folder.endpoint()}, folder.path(),
                  Program::On::kTerminal);
  ChatDaemon daemon(folder.endpoint());
  daemon.set_loading(kLoadingSteps);
  program.start();
  program.expect("\rthe daemon loads its model ");
  program.expect("\rthe daemon loads its model [#########...............] 41 %");
  program.expect("99 %\r");
  program.expect(" \r");
  program.expect("Answer to x");
  EXPECT_EQ(program.finish(), kExitOk);
}

TEST(ProgramOnTerminal, interrupt_ends_the_wait_for_a_load) {
  const TempFolder folder;
  Program program({"generate", "x", "--endpoint", folder.endpoint()}, folder.path(),
                  Program::On::kTerminal);
  ChatDaemon daemon(folder.endpoint());
  daemon.set_loading(std::vector<wire::Loading>(1'000'000, {41, 100}));
  program.start();
  program.expect("41 %");
  program.interrupt();
  program.expect("error: unavailable: loading: it is loading");
  EXPECT_EQ(program.finish(), kExitFailed);
  EXPECT_TRUE(daemon.compositions().empty());
}

TEST(ProgramOnTerminal, interrupt_stops_the_answer_and_not_the_program) {
  Terminal terminal;
  terminal.program.type("hang\n");
  terminal.program.expect("still");
  terminal.program.type("\x03");
  terminal.program.expect("cancelled)");
  terminal.program.expect_prompt();
  terminal.program.type("next\n");
  terminal.program.expect("Answer to next");
  terminal.program.expect_prompt();
  terminal.program.type("/bye\n");
  EXPECT_EQ(terminal.program.finish(), kExitOk);
}

TEST(ProgramOnTerminal, interrupt_at_the_prompt_clears_the_line) {
  Terminal terminal;
  terminal.program.type("half a line");
  terminal.program.expect("half a line");
  terminal.program.type("\x03");
  terminal.program.expect_prompt();
  terminal.program.type("whole\n");
  terminal.program.expect("Answer to whole");
  terminal.program.expect_prompt();
  terminal.program.type("\"\"\"open\n");
  terminal.program.expect_prompt("... ");
  terminal.program.type("\x03");
  terminal.program.expect_prompt();
  terminal.program.type("/bye\n");
  EXPECT_EQ(terminal.program.finish(), kExitOk);
  EXPECT_EQ(terminal.daemon.compositions().size(), 1u);
}

TEST(ProgramOnTerminal, completes_commands_and_ids_and_edits_wide_text) {
  Terminal terminal;
  terminal.program.type("Grüße, 世界x\x7f\n");
  terminal.program.expect("Answer to Grüße, 世界");
  terminal.program.expect_prompt();
  EXPECT_EQ(terminal.daemon.compositions()[0], "QUERY:Grüße, 世界");
  terminal.program.type("/hel\t\n");
  terminal.program.expect("/use-output N|ID");
  terminal.program.expect_prompt();
  terminal.program.type("/use-output out\t\n");
  terminal.program.expect("is part of the conversation already");
  terminal.program.expect_prompt();
  terminal.program.type("\x04");
  EXPECT_EQ(terminal.program.finish(), kExitOk);
}

TEST(ProgramOnTerminal, keeps_its_history_private) {
  Terminal terminal;
  terminal.program.type("secret question\n");
  terminal.program.expect("Answer to secret question");
  terminal.program.expect_prompt();
  terminal.program.type("/bye\n");
  EXPECT_EQ(terminal.program.finish(), kExitOk);
  const std::filesystem::path path = terminal.folder.path() / "cascade" / "chat_history";
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(path.parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  const Result<std::string> history = read_file(path, 1 << 20);
  ASSERT_TRUE(history.ok());
  EXPECT_NE(history->find("secret"), std::string::npos) << *history;
}

}  // namespace
}  // namespace cascade::ctl
