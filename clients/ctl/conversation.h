// What the next turn of a chat is composed of. Pure: no sockets, no output.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade::ctl {

// A turn that was answered: the output chunk that stands for it, and its text, which says the same
// when there is no such chunk any more.
struct Turn {
  std::string id;        // of the output; empty: it was not kept
  std::string question;  // the user's message, contexts included; may be empty
  ChatMessage answer;
};

// The turn of an output chunk.
Turn turn_of(const Chunk& output);

// [system] [turns, oldest first] [contexts] [query]. The contexts of a turn are part of its
// question afterwards and are not repeated.
class Conversation {
 public:
  // How a new conversation's turns reach the daemon: as the outputs that it keeps, or as text.
  enum class Turns { kOutputs, kText };

  // With the name of a `session` the turns are the daemon's (with Turns::kOutputs): they are not
  // sent, and an output that is added stands before the next question alone. Empty: no session.
  explicit Conversation(Turns turns = Turns::kOutputs, std::string session = "")
      : turns_are_(turns), session_(std::move(session)) {}

  // Empty: no system prompt.
  void set_system(std::string text) { system_ = std::move(text); }
  void set_query(std::string text) { query_ = std::move(text); }
  void add_context(std::string text) { contexts_.push_back(std::move(text)); }
  // Returns false, and changes nothing, if the output is there already.
  bool add_output(Turn turn);
  // Returns whether it was part of it.
  bool remove_output(const std::string& id);
  // Forgets everything but the system prompt, and leaves the session; the next turn goes on with
  // the conversation that the output `id` ended, whoever made it.
  void go_on_from(const std::string& id);

  // Puts the conversation into `request`: as chunks, the turns by the ids of their outputs; as
  // messages once the chunks are gone. Error: kInvalidArgument if there is no query.
  Status compose(wire::GenerateRequest& request) const;

  // The daemon does not know the outputs any more: the turns go as text until clear(). Returns
  // false if they go as text already, if there are none, or in a session, which takes no text:
  // there what was added is forgotten.
  bool chunks_are_gone();

  // The query was answered by the output `id`: query and contexts are a turn now. Empty: the answer
  // was not kept, and the turns go as text until clear().
  void answered(const std::string& id, ChatMessage answer);

  // Forgets everything but the system prompt, and leaves the session.
  void clear();

  const std::vector<std::string>& contexts() const { return contexts_; }
  const std::string& session() const { return session_; }
  // What the next question stands behind: the question of the last turn, else the id of the output
  // that it goes on from; empty: nothing.
  std::string end() const;
  // The ids of its outputs, oldest first, but for those of the session.
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
