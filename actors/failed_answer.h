// What stands in the place of an answer that cannot be given.
#pragma once

#include <optional>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade {

// The answer that tells of `error`. `message`: a job that cannot be sent, or an answer that cannot.
// None for a message that nobody waits for, and for a part of the list of what is stored.
std::optional<wire::Message> failed_answer(const wire::Message& message, const Error& error);

}  // namespace cascade
