// The outputs that the chat's commands speak of, by number.
#pragma once

#include <string>
#include <vector>

#include "clients/cpp/client.h"

namespace cascade::ctl {

// Numbers from 1 on, as the last list had them, whatever came and went since.
class NumberedOutputs {
 public:
  enum class Whose { kConversation, kAll };

  // `client` must outlive it.
  explicit NumberedOutputs(client::Client& client) : client_(client) {}

  // Numbers the outputs that the daemon has now, oldest first: all, or those of `conversation`, in
  // its order. Errors: those of Client::get_retained_sequences().
  Status number(Whose whose, const std::vector<std::string>& conversation);
  const std::vector<client::ChunkInfo>& list() const { return list_; }

  // `which`: a number, or an id or its beginning. A number beyond the last list is looked for in a
  // new one of the same kind; before there was a list, in that of `conversation`. The output
  // exists. Errors: kNotFound; kInvalidArgument if it is no output; those of Client.
  Result<Chunk> find(const std::string& which, const std::vector<std::string>& conversation);

 private:
  client::Client& client_;
  Whose whose_ = Whose::kConversation;
  std::vector<client::ChunkInfo> list_;
};

}  // namespace cascade::ctl
