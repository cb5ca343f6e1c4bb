// Decides which think policy a request has.
#pragma once

#include "actors/scheduler/request.h"
#include "base/chunk.h"
#include "base/result.h"
#include "model/model.h"

namespace cascade {

// Sets the request's think policy: the one that it names, or else `of_daemon`. That one refuses no
// request: if the request cannot have it, its answer is prefilled again. `has_states`: the model
// has recurrent layers. Error kUnsupported, field "think_policy": the request names a policy that
// does not work with the model or with the request's attention, which must be known.
Status take_think_policy(ThinkPolicy of_daemon, const Model& model, bool has_states,
                         Request& request);

}  // namespace cascade
