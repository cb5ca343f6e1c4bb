// Refusals are paced, and say when to come again.
#include "actors/scheduler/request_admission.h"

#include <algorithm>
#include <utility>

#include "actors/scheduler/prompt_size.h"

namespace cascade {
namespace {

// How long a refused client is told to wait: while nothing has been measured, at least, and at
// most.
constexpr int64_t kRetryAfterMs = 1000, kRetryAfterMsMin = 20, kRetryAfterMsMax = 60'000;

// Says how much of a full queue is the tenant's, if others also have places in it.
std::string yours(const TenantParts& parts, const std::string& tenant) {
  const int64_t own = parts.of(tenant);
  if (own == parts.total()) return "";
  return ", " + std::to_string(own) + " of them this tenant's, whose part is " +
         std::to_string(parts.part_of(tenant));
}

}  // namespace

RequestAdmission::RequestAdmission(const WaitingLimits& limits, int threads, const Clock& clock,
                                   const SpeedEstimate& speed, Outbox& outbox)
    : clock_(clock),
      speed_(speed),
      outbox_(outbox),
      places_(limits.requests),
      tokens_(limits.tokens),
      text_bytes_(limits.text_bytes),
      refusals_(PacedRefusals::kPerCore * threads) {}

void RequestAdmission::set_limits(int64_t requests, int64_t tokens) {
  places_.set_amount(requests);
  tokens_.set_amount(tokens);
}

Status RequestAdmission::find_place(const std::string& tenant,
                                    const wire::GenerateRequest& params) const {
  if (!places_.may_take(tenant, 1)) {
    return resource_exhausted("", "the queue is full: " + std::to_string(places_.total()) +
                                      " requests are waiting" + yours(places_, tenant));
  }
  const int64_t bytes = prompt_bytes(params);
  if (!text_bytes_.may_take(tenant, bytes)) {
    return resource_exhausted("", "the queue is full: the waiting prompts hold " +
                                      std::to_string(text_bytes_.total()) + " bytes" +
                                      yours(text_bytes_, tenant));
  }
  if (!tokens_.may_take(tenant, bytes / kBytesPerToken)) {
    return resource_exhausted("", "the queue is full: the waiting prompts have about " +
                                      std::to_string(tokens_.total()) + " tokens; the limit is " +
                                      std::to_string(tokens_.amount()) + yours(tokens_, tenant));
  }
  return {};
}

void RequestAdmission::count(Request& request, const Request::Counted& now) {
  const std::string& tenant = request.client.tenant;
  const Request::Counted before = std::exchange(request.counted, now);
  places_.add(tenant, now.places - before.places);
  tokens_.add(tenant, now.tokens - before.tokens);
  text_bytes_.add(tenant, now.text_bytes - before.text_bytes);
}

bool RequestAdmission::asks_singly(const std::string& tenant, int64_t running) const {
  const auto again = next_place_us_.find(tenant);
  const bool was_refused = again != next_place_us_.end() && again->second > clock_.monotonic_us();
  const bool has_more = was_refused || refusals_.has_waiting(tenant);
  return running + places_.of(tenant) <= 1 && !has_more;
}

// Returns when the tenant may ask again. Requests end at a measured rate, and the waiting tenants
// share the places that become free. The tenant's first refused request is told the time of its
// next place, its second one the time of the place after that, but never a later time than when a
// whole queue has had its turn. If the waiting prompts have too many tokens, the time is also long
// enough to compute the excess. The times that other tenants are told do not count.
int64_t RequestAdmission::retry_after_ms(const std::string& tenant) {
  const int64_t now = clock_.monotonic_us();
  const double ends_us = speed_.end_interval_us(now);
  int64_t& next_us = next_place_us_[tenant];
  if (ends_us <= 0) {
    next_us = std::max(next_us, now + kRetryAfterMs * 1000);
    return kRetryAfterMs;
  }
  const double interval_us = ends_us * static_cast<double>(std::max<int64_t>(1, places_.tenants()));
  const auto turn_us = static_cast<int64_t>(ends_us * static_cast<double>(places_.amount()));
  next_us = std::max(now, next_us) + static_cast<int64_t>(interval_us);
  next_us = std::min(next_us, now + turn_us);
  const int64_t excess = std::max<int64_t>(0, tokens_.total() - tokens_.amount());
  const double us = std::max(static_cast<double>(next_us - now),
                             static_cast<double>(excess) * speed_.prefill_token_us());
  return static_cast<int64_t>(std::clamp(us / 1000, static_cast<double>(kRetryAfterMsMin),
                                         static_cast<double>(kRetryAfterMsMax)));
}

void RequestAdmission::refuse(const Client& client, const wire::RequestId& id, const Error& error) {
  if (error.code == ErrorCode::kResourceExhausted &&
      !refusals_.may_answer(client.tenant, clock_.monotonic_us())) {
    return refusals_.hold({client, id, error});
  }
  const bool later =
      error.code == ErrorCode::kResourceExhausted || error.code == ErrorCode::kUnavailable;
  outbox_.reply_error(client, id, error, later ? retry_after_ms(client.tenant) : 0);
}

void RequestAdmission::answer_refused() {
  answer(refusals_.take_due(clock_.monotonic_us()));
}

void RequestAdmission::answer_all_refused() {
  answer(refusals_.take_all());
}

void RequestAdmission::answer(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    outbox_.reply_error(refusal.client, refusal.id, refusal.error,
                        retry_after_ms(refusal.client.tenant));
  }
}

}  // namespace cascade
