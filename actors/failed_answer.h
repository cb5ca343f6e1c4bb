// What stands in the place of an answer that cannot be given.
#pragma once

#include <optional>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade {

// The answer that tells of `error`. `message`: a job that cannot be sent, or the answer to one that
// cannot. None for messages that nobody waits for, or whose answer has no place for an error and no
// job.
std::optional<wire::Message> failed_answer(const wire::Message& message, const Error& error);

}  // namespace cascade
