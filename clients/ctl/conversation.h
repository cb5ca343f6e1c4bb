// The parts of the next turn of a chat. Pure: no sockets, no output.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade::ctl {

// A turn that was answered: its output chunk, and its text, which replaces the chunk if that no
// longer exists.
struct Turn {
  std::string id;        // id of the output; empty: it was not kept
  std::string question;  // the user's message, contexts included; may be empty
  ChatMessage answer;
};

// The turn of an output chunk.
Turn turn_of(const Chunk& output);

// [system] [turns, oldest first] [contexts] [query]. After a turn its contexts are part of its
// question and are not repeated.
class Conversation {
 public:
  // How the turns of a new conversation are sent to the daemon: as the outputs that it keeps, or as
  // text.
  enum class Turns { kOutputs, kText };

  // With the name of a `session` (only with Turns::kOutputs) the daemon has the turns: they are not
  // sent, and an added output comes before the next question only. An empty name means no session.
  explicit Conversation(Turns turns = Turns::kOutputs, std::string session = "")
      : turns_are_(turns), session_(std::move(session)) {}

  // Empty: no system prompt.
  void set_system(std::string text) { system_ = std::move(text); }
  void set_query(std::string text) { query_ = std::move(text); }
  void add_context(std::string text) { contexts_.push_back(std::move(text)); }
  // Returns false, and changes nothing, if the conversation has the output already.
  bool add_output(Turn turn);
  // Returns whether the output was part of the conversation.
  bool remove_output(const std::string& id);
  // Forgets everything but the system prompt, and leaves the session. The next turn continues the
  // conversation that the output `id` ended, whoever made it.
  void go_on_from(const std::string& id);

  // Puts the conversation into `request` as chunks, with the ids of its outputs as turns; once
  // these chunks no longer exist, as messages. Error: kInvalidArgument if there is no query.
  Status compose(wire::GenerateRequest& request) const;

  // Notes that the daemon no longer knows the outputs: the turns are sent as text until clear().
  // Returns false if they are already sent as text, or if there are none. Also returns false in a
  // session, which accepts no text: there the added outputs are forgotten.
  bool chunks_are_gone();

  // Notes that the output `id` answered the query: query and contexts are a turn now. An empty `id`
  // means that the answer was not kept: the turns are sent as text until clear().
  void answered(const std::string& id, ChatMessage answer);

  // Forgets everything but the system prompt, and leaves the session.
  void clear();

  const std::vector<std::string>& contexts() const { return contexts_; }
  const std::string& session() const { return session_; }
  // The end of the conversation, which the next question follows: the question of the last turn, or
  // its output's id if the question is empty; without turns, the id of the output that the
  // conversation continues; empty if there is neither.
  std::string end() const;
  // The ids of the conversation's outputs, oldest first, except those of the session.
  std::vector<std::string> outputs() const;

 private:
  std::string user_message() const;
  std::vector<wire::ChunkRef> chunks() const;
  std::vector<ChatMessage> messages() const;

  std::string system_;
  std::string previous_;  // the output that ended the conversation before turns_; empty: none
  std::vector<Turn> turns_;
  std::vector<std::string> contexts_;
  std::string query_;
  Turns turns_are_;
  std::string session_;
  bool as_text_ = turns_are_ == Turns::kText;
};

}  // namespace cascade::ctl
