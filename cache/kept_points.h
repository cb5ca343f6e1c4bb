// Where the recurrent states of a prompt are kept.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/running_state.h"

namespace cascade {

// Waypoints of a chain are at multiples of this many tokens, which is a multiple of a page. A state
// of Qwen3.5 0.8B takes as much memory as K and V of 3,000 tokens in int8, so they are not close
// together; a prompt that leaves the chain between two of them computes at most so many tokens
// again.
inline constexpr int64_t kWaypointTokens = 1024;
// A prompt has at most about this many waypoints. A long one has them at larger multiples, so that
// it does not take the slots of all others. A chain that grows token by token has some more, since
// its first ones were made when it was short.
inline constexpr int64_t kWaypointsMax = 8;
// A state that saves fewer tokens than this is not worth a slot.
inline constexpr int64_t kKeptTokensMin = 32;

// The plan of a chain that is computed.
struct ChainPlan {
  int64_t begin = 0;   // the first token that is computed
  int64_t tokens = 0;  // of the chain
  // The tokens that another chain with pages in memory begins with, too; at most `tokens`. The next
  // one that goes another way there finds the state.
  int64_t fork = 0;
  int64_t resumes = 0;  // where later prompts are expected to go on; at most `tokens`; 0: nowhere
};

// Returns the points in (position, end] where the states of the chain are to be kept, in ascending
// order.
std::vector<KeptPoint> kept_points(const ChainPlan& plan, int64_t position, int64_t end);

// Whether a chain that grows token by token has passed a waypoint on its way to `end` tokens.
bool passes_waypoint(int64_t position, int64_t end);

}  // namespace cascade
