// The copies of messages.
#include "wire/messages.h"

namespace cascade::wire {

Message::Message(const Message&) = default;
Message::Message(Message&&) noexcept = default;
Message& Message::operator=(const Message&) = default;
Message& Message::operator=(Message&&) noexcept = default;
Message::~Message() = default;

}  // namespace cascade::wire
