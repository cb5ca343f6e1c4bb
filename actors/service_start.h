// Tells whether the daemon serves already. Its doors open before the model is loaded, and ask this
// before they pass a request on.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <utility>

#include "base/load_progress.h"
#include "wire/frames.h"
#include "wire/messages.h"

namespace cascade {

// While the daemon loads its model, clients are told to ask again after this time.
inline constexpr int64_t kLoadingRetryMs = 500;

// Any thread.
class ServiceStart {
 public:
  // The progress of the current load.
  LoadProgress& progress() { return progress_; }
  wire::Loading loading() const { return {progress_.done_bytes(), progress_.total_bytes()}; }

  // The daemon serves from now on, by default a model of this name. Call it once.
  void serve(std::string default_model) {
    default_model_ = std::move(default_model);
    serves_ = true;
  }
  bool serves() const { return serves_; }
  // Precondition: serves().
  const std::string& default_model() const { return default_model_; }

 private:
  LoadProgress progress_;
  std::string default_model_;  // written before serves_ is
  std::atomic<bool> serves_{false};
};

// The answer to a client's message that came too soon: the daemon is loading, how far it has got,
// and when to ask again. `message` is without the client's name.
wire::Frames still_loading(std::span<const wire::Frame> message, const ServiceStart& start);

}  // namespace cascade
