// The daemon's errors name fields of the protocol; who typed a command line knows its options.
#pragma once

#include "base/result.h"

namespace cascade::ctl {

// The error with options in the place of the fields that they set: "--max-tokens" for max_tokens,
// "--on-missing skip" for what a message says of it. Other errors stay as they are. Pure.
Error in_words_of_options(Error error);

}  // namespace cascade::ctl
