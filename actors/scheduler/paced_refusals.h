// Refusals that wait, so that clients which ask again at once do not take the machine from the
// requests that run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/request.h"
#include "base/result.h"
#include "base/token_bucket.h"
#include "wire/messages.h"

namespace cascade {

// A request that is refused.
struct Refusal {
  Client client;
  wire::RequestId id;
  Error error;
};

// Answering costs the daemon about 0.1 ms of a core, including everything that passes the message
// on. A client waits for its answer before it asks again, so a client that is answered later asks
// less often. Refusals are answered at once up to a rate; beyond it they wait, and tenants take
// turns. One thread.
class PacedRefusals {
 public:
  // Refusals a second for each core that computes. They take a twentieth of the core.
  static constexpr double kPerCore = 500;
  // When this many refusals wait, further ones are answered at once: their clients do not wait for
  // answers.
  static constexpr size_t kWaitingMax = 65'536;

  // `per_s` > 0 is the number of refusals a second. That number may also be answered all at once.
  explicit PacedRefusals(double per_s) : bucket_(per_s, per_s) {}

  // Whether a refusal of the tenant is to be answered now. If not, the caller calls hold().
  bool may_answer(const std::string& tenant, int64_t now_us);
  void hold(Refusal&& refusal);
  // The client is gone: its refusals are not answered any more.
  void client_gone(const Client& client);
  // Takes out the refusals whose time has come, in the order in which they are to be answered.
  std::vector<Refusal> take_due(int64_t now_us);
  // Takes out all refusals.
  std::vector<Refusal> take_all();

  size_t waiting() const { return names_.size(); }
  bool has_waiting(const std::string& tenant) const { return held_.contains(tenant); }
  // Whether the client's request `id` waits to be refused.
  bool has_waiting(const Client& client, const wire::RequestId& id) const {
    return names_.contains({client, id});
  }

 private:
  Refusal take_next();
  void drop_all();

  TokenBucket bucket_;
  std::map<std::string, std::deque<Refusal>> held_;     // by tenant; none is empty
  std::set<std::pair<Client, wire::RequestId>> names_;  // of the refusals that are held
  std::string last_;                                    // the tenant that was answered last
  size_t stored_ = 0;  // refusals in held_, including those of clients that are gone
};

}  // namespace cascade
