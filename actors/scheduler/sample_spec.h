// The settings by which a request's tokens are chosen.
#pragma once

#include <cstdint>
#include <functional>

#include "model/config.h"
#include "wire/messages.h"

namespace cascade {

// Takes what the request says and, where it is silent, the model's `defaults`. A request that sets
// the temperature has chosen how to sample; the model's cut-offs then hold only where the request
// does not name its own. `random` gives the seed of a request that has none. Any thread.
wire::SampleSpec sample_spec(const wire::GenerateRequest& params, const GenerationConfig& defaults,
                             const std::function<uint64_t()>& random);

}  // namespace cascade
