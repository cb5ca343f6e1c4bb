// The settings by which a request's tokens are chosen.
#pragma once

#include <cstdint>
#include <functional>

#include "model/config.h"
#include "wire/messages.h"

namespace cascade {

// Takes the request's settings and, for settings that the request does not name, the model's
// `defaults`, which are greedy if the model says that it does not sample. `random` gives the seed
// of a request that has none. Any thread.
wire::SampleSpec sample_spec(const wire::GenerateRequest& params, const GenerationConfig& defaults,
                             const std::function<uint64_t()>& random);

}  // namespace cascade
