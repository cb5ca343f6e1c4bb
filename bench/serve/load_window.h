// What the daemon did for a load within a window of time. The window opens when the load is steady.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/serve/traffic.h"

namespace cascade::serve {

struct Refusals {
  std::vector<double> ms;
  int64_t with_retry_after = 0;
};

class LoadWindow {
 public:
  // The window opens `warmup_us` after `now_us`, once `ended_before` requests have been answered
  // too; in any case after kWarmupUsMax.
  LoadWindow(int64_t now_us, int64_t warmup_us, int64_t ended_before)
      : start_us_(now_us), warmup_us_(warmup_us), ended_before_(ended_before) {}
  static constexpr int64_t kWarmupUsMax = 120'000'000;

  // Opens the window if it is time. Returns whether it is open.
  bool look(int64_t now_us);
  void close(int64_t now_us) { end_us_ = now_us; }

  void sent(double late_ms);  // this long after the request was due
  void unsent();
  // Requests that end before the window opens count only for opening it.
  void ended(const Exchange& exchange);

  bool is_open() const { return begin_us_ > 0; }
  int64_t begin_us() const { return begin_us_; }
  double seconds() const { return static_cast<double>(end_us_ - begin_us_) / 1e6; }
  int64_t done() const { return static_cast<int64_t>(done_.size()); }
  int64_t unsent_count() const { return unsent_; }
  double offered_per_s() const { return static_cast<double>(offered_) / seconds(); }
  double done_per_s() const { return static_cast<double>(done()) / seconds(); }
  // Counts the tokens of requests that were answered in the window.
  double tokens_per_s() const;
  // The same for each of `parts` equal parts of the window.
  std::vector<double> tokens_per_s_of_parts(size_t parts) const;
  double refused_per_s() const;
  const std::vector<double>& first_text_ms() const { return first_text_ms_; }
  const std::vector<double>& total_ms() const { return total_ms_; }
  const std::vector<double>& late_ms() const { return late_ms_; }
  const std::map<std::string, Refusals>& refusals() const { return refusals_; }  // by error code

 private:
  int64_t start_us_, warmup_us_, ended_before_;
  int64_t ended_ = 0;
  int64_t begin_us_ = 0, end_us_ = 0;
  int64_t offered_ = 0, unsent_ = 0;
  std::vector<std::pair<int64_t, int64_t>> done_;  // when, tokens
  std::vector<double> first_text_ms_, total_ms_, late_ms_;
  std::map<std::string, Refusals> refusals_;
};

}  // namespace cascade::serve
