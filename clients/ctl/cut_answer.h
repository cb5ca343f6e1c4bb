// Answers that were cut by a limit of tokens.
#pragma once

#include <string>

#include "clients/cpp/client.h"

namespace cascade::ctl {

// Whether the generation ended because it was allowed no more tokens.
bool is_cut(const client::Generation& generation);

// A sentence for people: what was cut, by which limit, and how to get all of it. `request` is what
// the generation was asked for. Precondition: is_cut(generation).
std::string cut_text(const client::Generation& generation, const wire::GenerateRequest& request);

}  // namespace cascade::ctl
