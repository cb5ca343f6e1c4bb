// The chat: commands and turns against a daemon.
#pragma once

#include <string>
#include <vector>

#include "clients/cpp/client.h"
#include "clients/ctl/chat_command.h"
#include "clients/ctl/chat_outputs.h"
#include "clients/ctl/chat_retention.h"
#include "clients/ctl/conversation.h"
#include "clients/ctl/line_source.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

struct ChatSettings {
  // The sampling, limits and think policy of every turn, the session, and how long outputs live.
  // The prompt in it is ignored.
  client::GenerateParams params;
  std::string system;
  // Whether a person types: then results are followed by remarks, thoughts are shown, and a failed
  // command does not count for the exit code.
  bool interactive = false;
  // Which answers are kept; kAsk needs `ask`. A session keeps its turns, so it needs kAlways.
  Retain retain = Retain::kAlways;
  Ask ask{};
};

// Holds one conversation after another. Errors are printed and do not end the chat; only a command
// ends it. This object keeps the text of the turns: if the daemon has lost their chunks, one line
// on Screen::err says so, and the turns are sent as text.
class ChatSession {
 public:
  // `client` and `screen` must outlive the session.
  ChatSession(client::Client& client, Screen& screen, ChatSettings settings);

  // Executes an entry (chat_command.h). Returns false for /bye.
  bool enter(const std::string& entry);
  // Ends the conversation (chat_retention.h). Call it once, after the last entry.
  void end();
  // Prints a remark beside the results if a person types.
  void remark(const std::string& text);
  // Prints an error and remembers that there was one.
  void fail(const Error& error);
  // kExitOk if nothing failed; kExitUnreachable if the daemon was not reached (run.h).
  int exit_code() const { return exit_code_; }
  // The ids of the newest outputs, for completion.
  std::vector<std::string> output_ids();

 private:
  enum class Thoughts { kShown, kHidden };

  void run(const ChatCommand& command);
  void infer();
  Result<client::Generation> generate();
  void finish_turn(const client::Generation& generation);
  void list_outputs(const std::string& whose);
  Result<std::vector<std::string>> conversation_outputs();
  void list_chunks();
  void use_output(const std::string& which);
  void continue_from(const std::string& which);
  void delete_output(const std::string& which);
  void begin_anew();
  void show_stats();
  void show_help();
  void set_thinking(const std::string& mode);
  void set_effort(const std::string& level);
  Result<Chunk> find_output(const std::string& which);
  void print_list(const std::vector<client::ChunkInfo>& chunks, const std::string& table);
  client::Client& client_;
  Screen& screen_;
  ChatSettings settings_;
  Conversation conversation_;
  ChatRetention retention_;
  NumberedOutputs numbered_;
  Thoughts thoughts_;
  int exit_code_ = 0;
};

// Feeds the session with entries of `lines` until they end, /bye, or (not interactive) Ctrl-C, and
// ends it. Returns the exit code (run.h).
int run_chat(ChatSession& session, LineSource& lines, bool interactive);

}  // namespace cascade::ctl
