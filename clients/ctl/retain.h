// What the daemon keeps of a chat.
#pragma once

namespace cascade::ctl {

enum class Retain {
  kNever,   // no answer is kept; the turns are sent as text
  kAsk,     // the answers of each conversation for which the person says so at its end
  kAlways,  // all answers
};

}  // namespace cascade::ctl
