// Which pages of a database follow each other, and which ones were removed a moment ago.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/hash.h"
#include "persist/database.h"

namespace cascade {

// A page's name and that of the page or root before it.
struct PageLink {
  Digest key;
  Digest parent;
};

// Errors as Database. One thread.
class PageLinks {
 public:
  explicit PageLinks(Database& database) : database_(database) {}

  // Notes each page that leaves the table of pages from now on, for whatever reason, until the
  // database is closed.
  Status watch_removals();
  // The pages that were noted since the last forget_removed(). If a group of changes is undone, so
  // are its notes.
  Result<std::vector<PageLink>> removed();
  // Removes these notes, as a part of the database's group of changes.
  Status forget_removed();

  // The pages that come directly after the page or root `parent`.
  Result<std::vector<Digest>> after(const Digest& parent);
  // The pages unused for longest that are not among `kept`, until they take `bytes` together or
  // there are no more. Each page counts by itself: pages that come after it are not among them.
  Result<std::vector<Digest>> unused_longest(uint64_t bytes, const std::set<Digest>& kept);

 private:
  Database& database_;
};

}  // namespace cascade
