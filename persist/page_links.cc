// SQL. The notes are in a temporary table, which is filled by a trigger: it sees all removals.
#include "persist/page_links.h"

namespace cascade {

Status PageLinks::watch_removals() {
  return database_.execute(
      "CREATE TEMP TABLE IF NOT EXISTS removed_pages(key BLOB NOT NULL, parent_key BLOB NOT NULL) "
      "STRICT;"
      "CREATE TEMP TRIGGER IF NOT EXISTS note_removed_page AFTER DELETE ON main.pages BEGIN "
      "INSERT INTO removed_pages VALUES (old.key, old.parent_key); END;");
}

Result<std::vector<PageLink>> PageLinks::removed() {
  ASSIGN_OR_RETURN(Query query, database_.query("SELECT key, parent_key FROM temp.removed_pages"));
  std::vector<PageLink> removed;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return removed;
    removed.push_back({query.digest(0), query.digest(1)});
  }
}

Status PageLinks::forget_removed() {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query forget, database_.query("DELETE FROM temp.removed_pages"));
    return forget.run();
  });
}

Result<std::vector<Digest>> PageLinks::after(const Digest& parent) {
  ASSIGN_OR_RETURN(Query query, database_.query("SELECT key FROM pages WHERE parent_key=?"));
  query.bind(Blob(parent.bytes));
  std::vector<Digest> keys;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return keys;
    keys.push_back(query.digest(0));
  }
}

Result<std::vector<Digest>> PageLinks::unused_longest(uint64_t bytes,
                                                      const std::set<Digest>& kept) {
  ASSIGN_OR_RETURN(Query query, database_.query("SELECT key, length FROM pages "
                                                "ORDER BY last_used_us, position DESC"));
  std::vector<Digest> keys;
  for (uint64_t sum = 0; sum < bytes;) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) break;
    const Digest key = query.digest(0);
    if (kept.contains(key)) continue;
    keys.push_back(key);
    sum += query.bits(1);
  }
  return keys;
}

}  // namespace cascade
