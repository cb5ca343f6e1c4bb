// What a second pass still finds was not repaired.
#include "persist/fsck.h"

#include <set>
#include <string_view>

namespace cascade {

Fsck::Fsck(Store& store, bool repair)
    : store_(store),
      repair_(repair),
      first_(store, repair ? Check::Mode::kRepair : Check::Mode::kReport, /*owners=*/true),
      pages_before_(store.kv().counters().pages_verified),
      bytes_before_(store.kv().counters().bytes_verified) {}

Result<bool> Fsck::step(uint64_t bytes_max) {
  if (second_) return second_->step(bytes_max);
  ASSIGN_OR_RETURN(const bool more, first_.step(bytes_max));
  pages_ = store_.kv().counters().pages_verified - pages_before_;
  bytes_ = store_.kv().counters().bytes_verified - bytes_before_;
  if (more) return true;
  if (!repair_ || first_.findings().empty()) return false;
  second_.emplace(store_, Check::Mode::kReport, /*owners=*/false);
  return true;
}

std::vector<Fsck::Found> Fsck::found() const {
  const Findings none;
  const Findings& left = second_ ? second_->findings() : repair_ ? none : first_.findings();
  std::set<std::string_view> left_at;
  for (const Finding& finding : left) left_at.insert(finding.where);
  std::vector<Found> found;
  std::set<std::string_view> found_at;
  for (const Finding& finding : first_.findings()) {
    found.push_back({finding, repair_ && !left_at.contains(finding.where)});
    found_at.insert(finding.where);
  }
  // Findings that only the second pass has.
  for (const Finding& finding : left) {
    if (!found_at.contains(finding.where)) found.push_back({finding, false});
  }
  return found;
}

}  // namespace cascade
