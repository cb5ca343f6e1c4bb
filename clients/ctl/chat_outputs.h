// The numbers by which the chat's commands name outputs.
#pragma once

#include <string>
#include <vector>

#include "clients/cpp/client.h"

namespace cascade::ctl {

// Numbers count from 1 in the order of the last list, whatever was added or deleted since.
class NumberedOutputs {
 public:
  enum class Whose { kConversation, kAll };

  // `client` must outlive this object.
  explicit NumberedOutputs(client::Client& client) : client_(client) {}

  // Numbers the outputs that the daemon has now, oldest first: all, or those of `conversation`, in
  // its order. Errors: those of Client::get_retained_sequences().
  Status number(Whose whose, const std::vector<std::string>& conversation);
  const std::vector<client::ChunkInfo>& list() const { return list_; }

  // `which` is a number, an id or the beginning of an id. A number beyond the last list is looked
  // up in a new list of the same kind; if there was no list yet, in a list of `conversation`. The
  // returned output exists. Errors: kNotFound; kInvalidArgument if the chunk is not an output;
  // those of Client.
  Result<Chunk> find(const std::string& which, const std::vector<std::string>& conversation);

 private:
  client::Client& client_;
  Whose whose_ = Whose::kConversation;
  std::vector<client::ChunkInfo> list_;
};

}  // namespace cascade::ctl
