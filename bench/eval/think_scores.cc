// Sums over the results of a kind and a policy.
#include "bench/eval/think_scores.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "bench/eval/text_table.h"

namespace cascade::eval {
namespace {

constexpr char kAllKinds[] = "all";

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The cells of a line after its kind and policy. Precondition: there is a result.
std::vector<std::string> cells_of(const std::vector<ThinkResult>& results) {
  int64_t as_expected = 0, equal = 0, kv_bytes = 0;
  std::vector<Divergence> divergences;
  std::vector<double> ready_ms;
  for (const ThinkResult& result : results) {
    as_expected += result.as_expected ? 1 : 0;
    equal += result.equal ? 1 : 0;
    kv_bytes += result.kv_bytes;
    ready_ms.push_back(result.ready_seconds * 1e3);
    divergences.insert(divergences.end(), result.divergences.begin(), result.divergences.end());
  }
  const std::string asked = '/' + std::to_string(results.size());
  const DivergenceSummary all = summarize(divergences);
  return {std::to_string(as_expected) + asked,
          std::to_string(equal) + asked,
          number("%.2f %%", 100 * all.top1_agreement),
          number("%.2g", all.mean_kl),
          number("%.2g", all.p99_kl),
          number("%.2f", median(std::move(ready_ms))),
          std::to_string(kv_bytes / std::ssize(results) / 1024)};
}

}  // namespace

void ThinkScores::add(const std::string& kind, ThinkPolicy policy, ThinkResult result) {
  if (std::ranges::find(kinds_, kind) == kinds_.end()) kinds_.push_back(kind);
  if (std::ranges::find(policies_, policy) == policies_.end()) policies_.push_back(policy);
  results_[kind][policy].push_back(std::move(result));
}

std::string ThinkScores::table() const {
  if (kinds_.empty()) return "";
  std::vector<std::vector<std::string>> lines = {{"kind", "policy", "as expected", "as exact",
                                                  "same top token", "KL mean", "KL 99 %",
                                                  "ready ms", "KV KiB"}};
  const auto add_line = [&](const std::string& kind, ThinkPolicy policy,
                            const std::vector<ThinkResult>& results) {
    if (results.empty()) return;
    std::vector<std::string>& line = lines.emplace_back();
    line = {kind, std::string(to_string(policy))};
    std::ranges::move(cells_of(results), std::back_inserter(line));
  };
  std::map<ThinkPolicy, std::vector<ThinkResult>> all;
  for (const std::string& kind : kinds_) {
    for (const ThinkPolicy policy : policies_) {
      const auto found = results_.at(kind).find(policy);
      if (found == results_.at(kind).end()) continue;
      add_line(kind, policy, found->second);
      all[policy].insert(all[policy].end(), found->second.begin(), found->second.end());
    }
  }
  for (const ThinkPolicy policy : policies_) add_line(kAllKinds, policy, all[policy]);
  return text_table(lines, /*left=*/2);
}

}  // namespace cascade::eval
