// The counters of the HTTP gateway. Labels are our own names: no text, id or name of a client.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "wire/http/prometheus.h"
#include "wire/messages.h"

namespace cascade {

class HttpMetrics {
 public:
  HttpMetrics();
  void count_reply(int status) { ++replies_[status]; }
  void count_generation(const wire::Final& final);
  void count_failure(const std::string& code) { ++generations_[{code, ""}]; }

  // Returns the metrics as text, with the scheduler's numbers as far as it has told them.
  std::string text(const std::optional<wire::StatusReply>& status,
                   const std::optional<wire::StatsReply>& stats, size_t connections) const;

 private:
  std::map<int, uint64_t> replies_;                                      // by status
  std::map<std::pair<std::string, std::string>, uint64_t> generations_;  // code, finish_reason
  uint64_t prompt_tokens_ = 0, generated_tokens_ = 0;
  http::Histogram first_token_, inter_token_, queue_, prefill_, decode_, total_;
};

}  // namespace cascade
