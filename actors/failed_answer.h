// The answer to a job that cannot be done, or whose own answer cannot be sent.
#pragma once

#include <optional>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade {

// Returns an answer that has `error`. `message` is a job or an answer that cannot be sent. Returns
// nothing if nobody waits for an answer. Also returns nothing for lists of stored things, since
// several of them answer one job.
std::optional<wire::Message> failed_answer(const wire::Message& message, const Error& error);

}  // namespace cascade
