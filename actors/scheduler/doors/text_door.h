// Answers what clients ask about texts and token ids: nothing is computed, nothing is kept.
#pragma once

#include <cstdint>

#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "base/clock.h"
#include "model/model.h"
#include "wire/messages.h"

namespace cascade {

// One thread. Each request is answered once, with an error naming the field if it cannot be.
class TextDoor {
 public:
  // At most `texts_max` texts are tokenized at a time; each tenant has a part of this number. The
  // other arguments outlive this.
  TextDoor(const Model& model, const Clock& clock, Jobs& jobs, Outbox& outbox, int64_t texts_max);

  void on(const Client& client, const wire::RequestId& id, wire::TokenizeRequest&& request);
  void on(const Client& client, const wire::RequestId& id, wire::ApplyTemplateRequest&& request);
  void on(const Client& client, const wire::RequestId& id, const wire::DetokenizeRequest& request);
  // False: `done` is the answer to somebody else's job, and is left as it was.
  bool on(wire::EncodeDone& done);

 private:
  struct Asked {
    Client client;
    wire::RequestId id;
    bool rendered;  // for an ApplyTemplateRequest
  };
  void encode(const Client& client, const wire::RequestId& id, wire::EncodeJob&& job);

  const Model& model_;
  const Clock& clock_;
  Jobs& jobs_;
  Outbox& outbox_;
  const int64_t texts_max_;
  PendingJobs<Asked> encoding_;
};

}  // namespace cascade
