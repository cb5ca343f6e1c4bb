// What the next turn of a chat is composed of. Pure: no sockets, no output.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade::ctl {

// [system] [outputs, oldest first] [contexts] [query]. An output stands for its whole turn: the
// user's message, contexts included, and the answer. So the contexts of a turn are part of its
// output afterwards and are not repeated.
class Conversation {
 public:
  // Empty: no system prompt.
  void set_system(std::string text) { system_ = std::move(text); }
  void set_query(std::string text) { query_ = std::move(text); }
  void add_context(std::string text) { contexts_.push_back(std::move(text)); }
  // Returns false, and changes nothing, if the output is there already.
  bool add_output(const std::string& id);
  void remove_output(const std::string& id);

  // Error: kInvalidArgument if there is no query.
  Result<std::vector<wire::ChunkRef>> composition() const;

  // The query was answered by the output `id`: query and contexts are done.
  void answered(const std::string& id);

  // Forgets everything but the system prompt.
  void clear();

  const std::vector<std::string>& outputs() const { return outputs_; }
  const std::vector<std::string>& contexts() const { return contexts_; }

 private:
  std::string system_;
  std::vector<std::string> outputs_;  // ids
  std::vector<std::string> contexts_;
  std::string query_;
};

}  // namespace cascade::ctl
