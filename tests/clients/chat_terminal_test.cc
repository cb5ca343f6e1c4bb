// The chat on a terminal: pasted text, Ctrl-Z and fg, windows of other sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "clients/ctl/terminal_text.h"
#include "tests/clients/chat_daemon.h"
#include "tests/clients/program.h"

namespace cascade::ctl {
namespace {

using client::testing::ChatDaemon;
using client::testing::TempFolder;
using testing::Program;

constexpr const char* kBracketPastes = "\x1b[?2004h";
constexpr const char* kPastesAsTyped = "\x1b[?2004l";

std::string pasted(const std::string& text) {
  return "\x1b[200~" + text + "\x1b[201~";
}

struct ChatOnTerminal {
  explicit ChatOnTerminal(std::vector<std::string> options = {},
                          Program::On on = Program::On::kTerminal, unsigned short columns = 80)
      : program(arguments(std::move(options)), folder.path(), on, columns),
        daemon(folder.endpoint()) {
    program.start();
    program.expect("commands.");  // on a narrow terminal this word has its own line
    program.expect(kBracketPastes);
    program.expect_prompt();
  }
  std::vector<std::string> arguments(std::vector<std::string> options) const {
    options.insert(options.begin(), {"chat", "--endpoint", folder.endpoint()});
    return options;
  }
  // Types `line` and waits for the answer to `question` and the next prompt.
  void ask(const std::string& line, const std::string& question) {
    program.type(line);
    program.expect("Answer to " + question);
    program.expect("generated");
    program.expect_prompt();
  }
  void leave() {
    program.type("\x04");
    program.expect(kPastesAsTyped);
    EXPECT_EQ(program.finish(), kExitOk);
  }
  TempFolder folder;
  Program program;  // constructed before the daemon, because it forks
  ChatDaemon daemon;
};

using Compositions = std::vector<std::string>;

TEST(ChatOnTerminal, names_model_context_and_memory) {
  ChatOnTerminal chat;
  EXPECT_NE(
      chat.program.out().find(
          "model demo␛[2J (int8, 3.0 MiB), context 2048 tokens,\r\nKV cache 4.0 KiB of 256 MiB."),
      std::string::npos)
      << chat.program.out();
  chat.leave();
}

TEST(ChatOnTerminal, says_what_is_kept_and_which_session_goes_on) {
  ChatOnTerminal never({"--retain", "never"}, Program::On::kTerminal, 200);
  EXPECT_NE(never.program.out().find("Answers are not kept (--retain never)."), std::string::npos)
      << never.program.out();
  never.leave();
  ChatOnTerminal session({"--session", "trip"}, Program::On::kTerminal, 200);
  EXPECT_NE(session.program.out().find("Session trip begins with the first turn."),
            std::string::npos)
      << session.program.out();
  session.leave();
}

TEST(ChatOnTerminal, sends_what_is_pasted_as_one_message_on_enter_only) {
  ChatOnTerminal chat;
  chat.program.type(pasted("one\rtwo\r\n\r/three\r"));
  chat.ask(" and four\n", "one\r\ntwo\r\n\r\n/three and four");
  EXPECT_EQ(chat.daemon.compositions(), Compositions{"QUERY:one\ntwo\n\n/three and four"});
  chat.leave();
}

TEST(ChatOnTerminal, inserts_what_is_pasted_where_the_cursor_is) {
  ChatOnTerminal chat;
  chat.program.type("say ()\x02" + pasted("a\rb") + "\n");  // Ctrl-B: one back
  chat.program.expect("generated");
  chat.program.expect_prompt();
  chat.program.type("/system " + pasted("Be\rbrief.") + "\n");
  chat.program.expect("system prompt set");
  chat.program.expect_prompt();
  chat.ask(pasted("x") + "\n", "x");
  EXPECT_EQ(chat.daemon.compositions(),
            (Compositions{"QUERY:say (a\nb)", "SYSTEM_PROMPT:Be\nbrief. OUTPUT:#" +
                                                  ChatDaemon::output_id(1) + " QUERY:x"}));
  chat.leave();
}

TEST(ChatOnTerminal, takes_what_is_pasted_for_text_whatever_it_looks_like) {
  ChatOnTerminal chat;
  const std::vector<std::string> texts = {"/bye\r/clear", "\"\"\"Doc.\r\"\"\"\rx = 1", "exit\rquit",
                                          "tab\there\rGrüße, 世界 👩\u200d👧"};
  for (const std::string& text : texts) {
    chat.program.type(pasted(text) + "\n");
    chat.program.expect("generated");
    chat.program.expect_prompt();
  }
  ASSERT_EQ(chat.daemon.compositions().size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string expected = texts[i];
    std::ranges::replace(expected, '\r', '\n');
    EXPECT_TRUE(chat.daemon.compositions()[i].ends_with("QUERY:" + expected))
        << chat.daemon.compositions()[i];
  }
  chat.leave();
}

// The terminal receives the keys before the program asks for them, in whatever mode it has then.
TEST(ChatOnTerminal, a_paste_that_comes_before_the_prompt_is_one_message_too) {
  ChatOnTerminal chat;
  chat.program.type("first\n" + pasted("one\rtwo"));
  chat.program.expect("Answer to first");
  chat.program.expect("generated");
  chat.program.expect_prompt();
  chat.ask("\n", "one\r\ntwo");
  ASSERT_EQ(chat.daemon.compositions().size(), 2u);
  EXPECT_TRUE(chat.daemon.compositions()[1].ends_with("QUERY:one\ntwo"));
  chat.leave();
}

TEST(ChatOnTerminal, a_long_paste_arrives_whole) {
  ChatOnTerminal chat;
  std::string text;
  for (int line = 0; line < 500; ++line) text += "line " + std::to_string(line) + "\r";
  chat.program.type(pasted(text));
  chat.program.type("the end\n");
  chat.program.expect("generated");
  chat.program.expect_prompt();
  const std::string composition = chat.daemon.compositions().at(0);
  EXPECT_EQ(std::ranges::count(composition, '\n'), 499);
  EXPECT_TRUE(composition.ends_with("line 498\nline 499the end")) << composition.size();
  chat.leave();
}

TEST(ChatOnTerminal, remembers_what_was_pasted_as_one_line_of_history) {
  ChatOnTerminal chat;
  chat.program.type(pasted("one\rtwo") + "\n");
  chat.program.expect("generated");
  chat.program.expect_prompt();
  chat.program.type("\x10\n");  // Ctrl-P
  chat.program.expect("generated");
  chat.program.expect_prompt();
  EXPECT_TRUE(chat.daemon.compositions().at(1).ends_with("QUERY:one\ntwo"));
  chat.leave();
}

TEST(ChatOnTerminal, draws_the_line_again_when_it_is_continued) {
  ChatOnTerminal chat;
  chat.program.type("half a line");
  chat.program.expect("half a line");
  chat.program.stop();
  chat.program.set_usual_modes();  // as a shell does
  chat.program.send(SIGCONT);
  chat.program.expect(kBracketPastes);
  chat.program.expect("> half a line");
  chat.program.expect_prompt("");
  chat.ask(", whole\n", "half a line, whole");
  chat.leave();
}

TEST(ChatOnTerminal, gives_the_terminal_back_while_it_is_stopped_and_comes_back_with_its_line) {
  ChatOnTerminal chat({}, Program::On::kJob);
  chat.program.type("half a line");
  chat.program.expect("half a line");
  chat.program.type("\x1a");
  chat.program.expect(kPastesAsTyped);
  chat.program.expect("stopped");
  EXPECT_TRUE(chat.program.has_usual_modes());
  chat.program.type("fg\n");
  chat.program.expect(kBracketPastes);
  chat.program.expect("> half a line");
  chat.program.expect_prompt("");
  chat.ask(", whole\n", "half a line, whole");
  EXPECT_EQ(chat.daemon.compositions(), Compositions{"QUERY:half a line, whole"});
  chat.leave();
}

TEST(ChatOnTerminal, is_stopped_and_continued_while_an_answer_comes) {
  ChatOnTerminal chat({}, Program::On::kJob);
  chat.program.type("hang\n");
  chat.program.expect("still");
  chat.program.type("\x1a");
  chat.program.expect(kPastesAsTyped);
  chat.program.expect("stopped");
  chat.program.type("fg\n");
  chat.program.expect(kBracketPastes);
  chat.program.type("\x03");
  chat.program.expect("cancelled)");
  chat.program.expect_prompt();
  chat.ask("next\n", "next");
  chat.leave();
}

TEST(ChatOnTerminal, draws_the_line_again_in_a_window_of_another_size) {
  ChatOnTerminal chat({}, Program::On::kTerminal, 40);
  const std::string line = "a question that takes two lines of a narrow window";
  chat.program.type(line);
  chat.program.expect("window");
  chat.program.resize(100);
  // The terminal has joined the two lines, so the cursor is on the prompt's line.
  chat.program.expect("\r\x1b[J> " + line);
  chat.program.resize(30);
  chat.program.expect("\r\x1b[1A\x1b[J> ");
  chat.program.expect("narrow window");
  chat.ask("?\n", "a question that\r\ntakes two lines of a narrow");
  EXPECT_EQ(chat.daemon.compositions(), Compositions{"QUERY:" + line + "?"});
  chat.leave();
}

// The lines printed after `mark`, without the prompt that ends them.
std::vector<std::string> lines_behind(const Program& program, const std::string& mark) {
  const std::string& out = program.out();
  std::istringstream in(out.substr(out.rfind(mark)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

TEST(ChatOnTerminal, breaks_no_word_of_an_answer) {
  ChatOnTerminal chat({}, Program::On::kTerminal, 24);
  chat.program.type(
      pasted("which city is the capital of a country with an emperor 東京は日本の首都です") + "\n");
  chat.program.expect("Answer to");
  chat.program.expect("generated");
  chat.program.expect_prompt();
  const std::vector<std::string> lines = lines_behind(chat.program, "Answer to");
  ASSERT_GT(lines.size(), 6u);
  EXPECT_EQ(lines[0], "Answer to which city is");
  EXPECT_EQ(lines[1], "the capital of a country");
  EXPECT_EQ(lines[2], "with an emperor 東京は日");
  EXPECT_EQ(lines[3], "本の首都です");
  EXPECT_EQ(lines[4], "(7 tokens reused, 3");
  EXPECT_EQ(lines[5], "prefilled, 3 generated,");
  // The new width of the window counts at once.
  chat.program.resize(60);
  chat.ask("a longer question for a window that has become wider\n",
           "a longer question for a window that has become\r\nwider");
  chat.leave();
}

TEST(ChatOnTerminal, breaks_no_word_of_help_and_statistics) {
  for (const unsigned short columns : {40, 80, 120}) {
    ChatOnTerminal chat({}, Program::On::kTerminal, columns);
    chat.program.type("/help\n");
    chat.program.expect("with //.");
    chat.program.expect_prompt();
    chat.program.type("/stats\n");
    chat.program.expect("pages evicted");
    chat.program.expect_prompt();
    chat.ask("/clear\nx\n", "x");
    chat.program.type("/output all\n/output\n");
    chat.program.expect("output_1");
    chat.program.expect("output_1");
    chat.program.expect_prompt();
    for (const std::string& line : lines_behind(chat.program, "Connected to")) {
      EXPECT_LE(display_width(one_line(line)), columns) << line;
    }
    chat.leave();
  }
}

TEST(ChatOnTerminal, asks_what_is_to_be_kept_when_it_ends) {
  ChatOnTerminal chat({"--retain", "ask"});
  chat.ask("a\n", "a");
  chat.program.type("/bye\n");
  chat.program.expect("This conversation made 1 output.");
  chat.program.expect_prompt("Keep what it made? [y/n] ");
  chat.program.type("n\n");
  chat.program.expect("deleted 1 output");
  EXPECT_EQ(chat.program.finish(), kExitOk);
  EXPECT_EQ(chat.daemon.chunk_count(), 0u);
}

TEST(ChatOnTerminal, leaves_on_a_word_and_says_how_it_is_sent) {
  ChatOnTerminal chat;
  chat.program.type("exit\n");
  chat.program.expect("To send the word exit to the model, type \"\"\"exit\"\"\".");
  EXPECT_EQ(chat.program.finish(), kExitOk);
  EXPECT_TRUE(chat.daemon.compositions().empty());
}

TEST(ChatOnTerminal, restores_the_terminal_when_it_is_terminated) {
  ChatOnTerminal chat({}, Program::On::kJob);
  chat.program.type("half");
  chat.program.expect("half");
  EXPECT_FALSE(chat.program.has_usual_modes());
  chat.program.send_to_foreground(SIGTERM);
  chat.program.expect(kPastesAsTyped);
  chat.program.expect("ended, the terminal is as it was");
  (void)chat.program.finish();
}

// This includes the command line's own help, which CLI11 writes.
TEST(ProgramOnTerminal, breaks_no_word_of_help) {
  for (const unsigned short columns : {40, 80, 120}) {
    const TempFolder folder;
    for (const char* command : {"chat", "generate", "chunk"}) {
      Program program({command, "--help"}, folder.path(), Program::On::kTerminal, columns);
      program.start();
      EXPECT_EQ(program.finish(), kExitOk);
      EXPECT_EQ(program.out().find("{false}"), std::string::npos) << "of CLI11, for no reader";
      std::istringstream lines(program.out());
      for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) line.pop_back();  // added by the terminal after a whole line
        const bool option = line.find(":{") != std::string::npos;  // a list of values is one word
        if (option) continue;
        EXPECT_LE(display_width(one_line(line)), columns) << line;
      }
    }
  }
}

TEST(ProgramOnPipes, has_lines_without_end) {
  const TempFolder folder;
  Program program({"chat", "--retain", "ask", "--endpoint", folder.endpoint()}, folder.path(),
                  Program::On::kPipes);
  Program chat({"chat", "--endpoint", folder.endpoint()}, folder.path(), Program::On::kPipes);
  const ChatDaemon daemon(folder.endpoint());
  program.start();
  program.close_input();
  EXPECT_EQ(program.finish(), kExitUsage);
  EXPECT_NE(program.err().find("--retain: ask needs a terminal"), std::string::npos)
      << program.err();
  std::string question = "word";
  for (int i = 0; i < 60; ++i) question += " word";
  chat.start();
  chat.type(question + "\n/help\n");
  chat.close_input();
  EXPECT_EQ(chat.finish(), kExitOk);
  EXPECT_TRUE(chat.out().starts_with("Answer to " + question + "\nA line of text is a turn"))
      << chat.out();
}

}  // namespace
}  // namespace cascade::ctl
