// Gives requests a place in the queue, within their tenant's part of places, bytes and tokens, or
// refuses them and says when to come again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/scheduler/outbox.h"
#include "actors/scheduler/paced_refusals.h"
#include "actors/scheduler/request.h"
#include "base/clock.h"
#include "base/result.h"
#include "cache/planner.h"
#include "cache/tenant_parts.h"

namespace cascade {

// The limits of all waiting requests together; each tenant has a part of them
// (cache/tenant_parts.h).
struct WaitingLimits {
  int64_t requests = 64;
  int64_t tokens = 131'072;  // of their prompts; one prompt alone may have more
  int64_t text_bytes = int64_t{64} << 20;
};

// One thread.
class RequestAdmission {
 public:
  // `speed` is what the daemon has measured. `threads` is the number of threads that compute. The
  // references outlive this.
  RequestAdmission(const WaitingLimits& limits, int threads, const Clock& clock,
                   const SpeedEstimate& speed, Outbox& outbox);
  // Tenants that have more than the new limits allow keep it.
  void set_limits(int64_t requests, int64_t tokens);

  // Checks that the request fits into the tenant's part. Error kResourceExhausted, which says what
  // is full.
  Status find_place(const std::string& tenant, const wire::GenerateRequest& params) const;
  // From now on the request takes these amounts of its tenant's parts.
  void count(Request& request, const Request::Counted& now);
  int64_t tokens_waiting() const { return tokens_.total(); }
  // Whether the tenant, which has `running` requests that run, asks for one thing at a time: it has
  // no second request, and none that was refused and may come again soon.
  bool asks_singly(const std::string& tenant, int64_t running) const;

  // Tells the client of the error now or, if refusals come too fast, when its turn has come.
  void refuse(const Client& client, const wire::RequestId& id, const Error& error);
  bool is_being_refused(const Client& client, const wire::RequestId& id) const {
    return refusals_.has_waiting(client, id);
  }
  // Answers the refusals whose turn has come.
  void answer_refused();
  void answer_all_refused();
  // The client is gone: its refusals are not answered any more.
  void client_gone(const Client& client) { refusals_.client_gone(client); }

 private:
  int64_t retry_after_ms(const std::string& tenant);
  void answer(const std::vector<Refusal>& refusals);

  const Clock& clock_;
  const SpeedEstimate& speed_;
  Outbox& outbox_;
  TenantParts places_;
  TenantParts tokens_;  // estimated until prompts are tokenized
  TenantParts text_bytes_;
  std::map<std::string, int64_t> next_place_us_;  // when a tenant's last refused request may return
  PacedRefusals refusals_;
};

}  // namespace cascade
