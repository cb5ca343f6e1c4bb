// The daemon's errors name fields of the protocol; a person who typed a command line knows its
// options.
#pragma once

#include "base/result.h"

namespace cascade::ctl {

// The error with options in place of the fields that they set: "--max-tokens" for max_tokens, and
// "--on-missing skip" for the message's words about that field. Other errors stay as they are.
// Pure.
Error in_words_of_options(Error error);

}  // namespace cascade::ctl
