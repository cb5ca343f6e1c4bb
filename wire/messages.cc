// The copies of messages.
#include "wire/messages.h"

#include <array>

namespace cascade::wire {
namespace {

template <class M>
void take(AnyMessage& to, void* message) {
  to.emplace<M>(std::move(*static_cast<M*>(message)));
}

using Take = void (*)(AnyMessage&, void*);
template <class... Ms>
constexpr std::array<Take, sizeof...(Ms)> takes_of(const std::variant<Ms...>*) {
  return {take<Ms>...};
}
// The functions that take a value; the index is the type number.
constexpr auto kTakes = takes_of(static_cast<const AnyMessage*>(nullptr));

}  // namespace

Message::Message(size_t type, void* message) {
  kTakes[type](*this, message);
}
Message::Message(const Message&) = default;
Message::Message(Message&&) noexcept = default;
Message& Message::operator=(const Message& other) {
  return *this = Message(other);
}
Message& Message::operator=(Message&&) noexcept = default;
Message::~Message() = default;

}  // namespace cascade::wire
