// Answers that have no end: a limit of tokens cut them.
#pragma once

#include <string>

#include "clients/cpp/client.h"

namespace cascade::ctl {

// Whether it ended because it may have no more tokens.
bool is_cut(const client::Generation& generation);

// What was cut, by which limit, and how to get all of it: a sentence for people. `request`: what
// the generation was asked for. Precondition: is_cut(generation).
std::string cut_text(const client::Generation& generation, const wire::GenerateRequest& request);

}  // namespace cascade::ctl
