// Sums over the requests that ended in the window.
#include "bench/serve/load_window.h"

#include <algorithm>

namespace cascade::serve {

bool LoadWindow::look(int64_t now_us) {
  if (is_open()) return true;
  const int64_t passed_us = now_us - start_us_;
  const bool warm = passed_us >= warmup_us_ && ended_ >= ended_before_;
  if (warm || passed_us >= kWarmupUsMax) begin_us_ = now_us;
  return is_open();
}

void LoadWindow::sent(double late_ms) {
  if (!is_open()) return;
  ++offered_;
  late_ms_.push_back(late_ms);
}

void LoadWindow::unsent() {
  if (!is_open()) return;
  ++offered_;
  ++unsent_;
}

void LoadWindow::ended(const Exchange& exchange) {
  if (!is_open()) {
    ended_ += exchange.final ? 1 : 0;
    return;
  }
  if (exchange.error) {
    Refusals& refused = refusals_[std::string(to_string(exchange.error->error.code))];
    refused.ms.push_back(exchange.total_ms());
    refused.with_retry_after += exchange.error->retry_after_ms > 0 ? 1 : 0;
    return;
  }
  done_.emplace_back(exchange.ended_us, exchange.final->usage.completion_tokens);
  first_text_ms_.push_back(exchange.first_text_ms());
  total_ms_.push_back(exchange.total_ms());
}

double LoadWindow::tokens_per_s() const {
  return tokens_per_s_of_parts(1).front();
}

std::vector<double> LoadWindow::tokens_per_s_of_parts(size_t parts) const {
  std::vector<double> rates(parts);
  const auto part_us = static_cast<double>(end_us_ - begin_us_) / static_cast<double>(parts);
  for (const auto& [at_us, tokens] : done_) {
    const auto part = static_cast<double>(std::max<int64_t>(0, at_us - begin_us_)) / part_us;
    rates[std::min(parts - 1, static_cast<size_t>(part))] += static_cast<double>(tokens);
  }
  for (double& rate : rates) rate *= static_cast<double>(parts) / seconds();
  return rates;
}

double LoadWindow::refused_per_s() const {
  size_t count = 0;
  for (const auto& [code, refused] : refusals_) count += refused.ms.size();
  return static_cast<double>(count) / seconds();
}

}  // namespace cascade::serve
