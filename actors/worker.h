// The common form of actors that answer the scheduler's messages one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/door.h"
#include "actors/zmq_port.h"
#include "wire/messages.h"

namespace cascade {

// The endpoint of the scheduler's ROUTER inside the process.
inline constexpr char kSchedulerEndpoint[] = "inproc://scheduler";

// The endpoint for requests to other models than the default one, and about models: doors send
// [client][model][message…] there, and get [client][message…] back.
inline constexpr char kModelsEndpoint[] = "inproc://models";

// Whether a request that names this model is for the default model, which is called
// `name_of_default`.
inline bool is_default_model(const std::string& model, const std::string& name_of_default) {
  return model.empty() || model == "default" || model == name_of_default;
}

// The names by which the scheduler's ROUTER knows the actors.
inline constexpr char kPrefillActor[] = "prefill";
inline constexpr char kDecodeActor[] = "decode";
inline constexpr char kStoreActor[] = "store";
inline constexpr char kMainActor[] = "main";  // the daemon's main thread, which stops the scheduler

// Handles a message of the scheduler. `wanted` says, on this thread and until the handler returns,
// whether another message waits.
using Handle = std::function<std::optional<wire::Message>(const wire::Message& message,
                                                          const std::function<bool()>& wanted)>;

// Runs the actor `name` on the calling thread: greets the scheduler, then gives each message to
// `handle` and sends back what it returns. Returns on Stop. Throws what `handle` throws, and
// std::runtime_error if the scheduler has ended (it was restarted: the supervisor starts us again).
void run_worker(ZmqContext& context, const std::string& name, uint64_t incarnation,
                const Handle& handle);

// Does the same for an actor that works on many messages at a time. It gives all available
// messages, at most kBatchMax, to `handle`, which sends its answers itself. It gives an empty batch
// whenever no message has come for kIdleUs, or at once if `handle` returned true, which means that
// it has more to do.
using Send = std::function<void(wire::Message)>;
using BatchHandle = std::function<bool(std::vector<wire::Message> batch, const Send& send)>;
inline constexpr size_t kBatchMax = 256;
inline constexpr int64_t kIdleUs = 200'000;
void run_batch_worker(ZmqContext& context, const std::string& name, uint64_t incarnation,
                      const BatchHandle& handle);

}  // namespace cascade
