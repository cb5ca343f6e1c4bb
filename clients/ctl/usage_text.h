// One line about what a generation reused and computed.
#pragma once

#include <string>
#include <vector>

#include "clients/cpp/client.h"

namespace cascade::ctl {

// "520 tokens reused (128 read from disk), 31 prefilled (from token 520 on: was evicted), 12
// generated, 230 ms, attention window:4096:64, left out: the oldest 12 turns". Dense
// attention is not named. With `finish` also how it ended.
std::string usage_text(const client::Generation& generation, bool finish);

// "the oldest 12 turns, and the oldest step of the next turn".
std::string left_out_text(const LeftOut& left_out);

// "parts of 3 turns, 412 tokens"; "parts of 1 turn, 60 tokens". Precondition: there are some.
std::string retrieved_text(const std::vector<Retrieved>& retrieved);
// "40 turns in 3 summaries"; of a summary itself "4 turns".
std::string summarised_text(const Summarised& summarised);

}  // namespace cascade::ctl
