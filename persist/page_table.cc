// SQL of the tables models, files, pages and scrubs.
#include "persist/page_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "persist/row_checksum.h"

namespace cascade {
namespace {

constexpr std::array<std::pair<KvFileState, std::string_view>, 3> kStates = {{
    {KvFileState::kOpen, "open"},
    {KvFileState::kAbandoned, "abandoned"},
    {KvFileState::kRemoving, "removing"},
}};

std::string_view to_string(KvFileState state) {
  return std::ranges::find(kStates, state, &decltype(kStates)::value_type::first)->second;
}

KvFileState state_of(std::string_view name) {
  const auto found = std::ranges::find(kStates, name, &decltype(kStates)::value_type::second);
  return found == kStates.end() ? KvFileState::kAbandoned : found->first;
}

// Literals, as Database::query() wants them.
#define CASCADE_PAGE_COLUMNS                                                                  \
  "SELECT p.key, p.parent_key, p.tenant, m.digest, p.position, p.token_ids, p.last_used_us, " \
  "p.file, p.offset, p.length, p.page_bytes, p.compressed, p.checksum, p.stored_bytes, "      \
  "p.verified, p.attention FROM pages "                                                       \
  "p "                                                                                        \
  "JOIN models m ON m.number = p.model "

Blob as_blob(const Digest& digest) {
  return digest.bytes;
}

int64_t checksum(const PageUseRow& use) {
  return RowChecksum()
      .add(std::span<const uint8_t>(use.page.bytes))
      .add_all(use.tenant, use.chunk_id, int64_t{use.ends})
      .value();
}

StoredPage read_page(const Query& query) {
  StoredPage page;
  KvPageHeader& header = page.header;
  header.key = query.digest(0);
  header.parent = query.digest(1);
  header.tenant = query.text(2);
  header.model = query.digest(3);
  header.position = query.integer(4);
  const Blob ids = query.blob(5);
  header.token_ids.resize(ids.size() / sizeof(int32_t));
  if (!ids.empty()) {
    std::memcpy(header.token_ids.data(), ids.data(), header.token_ids.size() * sizeof(int32_t));
  }
  page.last_used_us = query.integer(6);
  page.place = {query.integer(7), query.bits(8), query.bits(9)};
  header.page_bytes = query.bits(10);
  header.compressed = query.integer(11) != 0;
  header.checksum = query.bits(12);
  header.stored_bytes = query.bits(13);
  page.verified = query.integer(14) != 0;
  // If the text is damaged, the row differs from the page's header, and the page is not used.
  if (const auto mode = parse_attention_mode(query.text(15)); mode.ok()) header.attention = *mode;
  return page;
}

Result<std::vector<StoredPage>> read_pages(Query& query) {
  std::vector<StoredPage> pages;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return pages;
    pages.push_back(read_page(query));
  }
}

// A page and all pages that continue from it, the last ones first.
constexpr char kSubtree[] =
    "WITH RECURSIVE tree(key) AS (SELECT ? UNION "
    "SELECT p.key FROM tree t JOIN pages p ON p.parent_key=t.key) "
    "SELECT p.key, p.length FROM tree t JOIN pages p ON p.key=t.key ORDER BY p.position DESC";

}  // namespace

Status PageTable::put_model(const ModelRecord& model) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(
        Query put,
        database_.query(
            "INSERT INTO models(digest, name, weight_type, kv_type, layout_version, "
            "numerics_version) VALUES (?,?,?,?,?,?) ON CONFLICT(digest) DO UPDATE SET "
            "name=excluded.name, weight_type=excluded.weight_type, kv_type=excluded.kv_type, "
            "layout_version=excluded.layout_version, "
            "numerics_version=excluded.numerics_version"));
    return put
        .bind(as_blob(model.digest), model.name, model.weight_type, model.kv_type,
              model.layout_version, model.numerics_version)
        .run();
  });
}

Result<std::vector<ModelRecord>> PageTable::models() {
  ASSIGN_OR_RETURN(Query query,
                   database_.query("SELECT digest, name, weight_type, kv_type, layout_version, "
                                   "numerics_version FROM models ORDER BY number"));
  std::vector<ModelRecord> models;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return models;
    models.push_back({query.digest(0), query.text(1), query.text(2), query.text(3),
                      query.integer(4), query.integer(5)});
  }
}

Status PageTable::put_file(const KvFileRow& file) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query put,
                     database_.query("INSERT INTO files(number, file_id, state, bytes) "
                                     "VALUES (?,?,?,?) ON CONFLICT(number) DO UPDATE SET "
                                     "file_id=excluded.file_id, state=excluded.state, "
                                     "bytes=excluded.bytes"));
    return put.bind(file.number, file.file_id, to_string(file.state), file.bytes).run();
  });
}

Status PageTable::remove_file(int64_t number) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query remove, database_.query("DELETE FROM files WHERE number=?"));
    return remove.bind(number).run();
  });
}

Result<std::vector<KvFileRow>> PageTable::files() {
  ASSIGN_OR_RETURN(Query query, database_.query("SELECT number, file_id, state, bytes FROM files "
                                                "ORDER BY number"));
  std::vector<KvFileRow> files;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return files;
    files.push_back({query.integer(0), query.bits(1), state_of(query.text(2)), query.bits(3)});
  }
}

Result<std::map<int64_t, uint64_t>> PageTable::live_bytes() {
  ASSIGN_OR_RETURN(Query query,
                   database_.query("SELECT file, sum(length) FROM pages GROUP BY file"));
  std::map<int64_t, uint64_t> live;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return live;
    live[query.integer(0)] = query.bits(1);
  }
}

Status PageTable::put(const StoredPage& page) {
  const KvPageHeader& header = page.header;
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query model,
                     database_.query("INSERT OR IGNORE INTO models(digest, name, weight_type, "
                                     "kv_type, layout_version, numerics_version) "
                                     "VALUES (?, '', '', '', 0, 0)"));
    RETURN_IF_ERROR(model.bind(as_blob(header.model)).run());
    ASSIGN_OR_RETURN(
        Query put,
        database_.query("INSERT INTO pages(key, parent_key, tenant, model, position, "
                        "token_count, token_ids, last_used_us, verified, file, offset, length, "
                        "page_bytes, compressed, checksum, stored_bytes, attention) VALUES "
                        "(?,?,?,(SELECT number FROM models WHERE digest=?),"
                        "?,?,?,?,?,?,?,?,?,?,?,?,?)"));
    const Blob ids = {reinterpret_cast<const uint8_t*>(header.token_ids.data()),
                      header.token_ids.size() * sizeof(int32_t)};
    put.bind(as_blob(header.key), as_blob(header.parent), header.tenant, as_blob(header.model),
             header.position, static_cast<int64_t>(header.token_ids.size()), ids, page.last_used_us,
             page.verified, page.place.file, page.place.offset, page.place.length,
             header.page_bytes, header.compressed, header.checksum, header.stored_bytes,
             to_string(header.attention));
    return put.run();
  });
}

Result<std::optional<StoredPage>> PageTable::find(const Digest& key) {
  ASSIGN_OR_RETURN(Query query, database_.query(CASCADE_PAGE_COLUMNS "WHERE p.key=?"));
  ASSIGN_OR_RETURN(const bool found, query.bind(as_blob(key)).next());
  if (!found) return std::optional<StoredPage>();
  return std::optional(read_page(query));
}

Status PageTable::move(const KvPageHeader& header, const PagePlace& to) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query move,
                     database_.query("UPDATE pages SET file=?, offset=?, length=?, compressed=?, "
                                     "checksum=?, stored_bytes=? WHERE key=?"));
    return move
        .bind(to.file, to.offset, to.length, header.compressed, header.checksum,
              header.stored_bytes, as_blob(header.key))
        .run();
  });
}

Status PageTable::touch(const Digest& key, int64_t now_us) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query touch, database_.query("UPDATE pages SET last_used_us=? WHERE key=?"));
    return touch.bind(now_us, as_blob(key)).run();
  });
}

Status PageTable::mark_verified(const Digest& key) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query mark, database_.query("UPDATE pages SET verified=1 WHERE key=?"));
    return mark.bind(as_blob(key)).run();
  });
}

Status PageTable::remove(const Digest& key) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query remove, database_.query("DELETE FROM pages WHERE key=?"));
    return remove.bind(as_blob(key)).run();
  });
}

Result<std::vector<Digest>> PageTable::remove_from(int64_t file, uint64_t offset) {
  std::vector<Digest> keys;
  const Status removed = database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query remove, database_.query("DELETE FROM pages WHERE file=? AND offset>=? "
                                                   "RETURNING key"));
    remove.bind(file, offset);
    while (true) {
      ASSIGN_OR_RETURN(const bool more, remove.next());
      if (!more) return {};
      keys.push_back(remove.digest(0));
    }
  });
  if (!removed.ok()) return removed.error();
  return keys;
}

Result<std::vector<StoredPage>> PageTable::behind(const PagePlace& after, size_t limit) {
  ASSIGN_OR_RETURN(Query query,
                   database_.query(CASCADE_PAGE_COLUMNS "WHERE (p.file, p.offset) > (?, ?) "
                                                        "ORDER BY p.file, p.offset LIMIT ?"));
  query.bind(after.file, after.offset, static_cast<int64_t>(limit));
  return read_pages(query);
}

Result<std::vector<StoredPage>> PageTable::of_model(const Digest& model) {
  ASSIGN_OR_RETURN(Query query, database_.query(CASCADE_PAGE_COLUMNS
                                                "WHERE m.digest=? ORDER BY p.position, p.key"));
  query.bind(as_blob(model));
  return read_pages(query);
}

Result<std::set<Digest>> PageTable::chains_of(std::span<const Digest> ends) {
  std::set<Digest> keys;
  for (Digest key : ends) {
    while (!keys.contains(key)) {
      ASSIGN_OR_RETURN(Query query, database_.query("SELECT parent_key FROM pages WHERE key=?"));
      query.bind(as_blob(key));
      ASSIGN_OR_RETURN(const bool found, query.next());
      if (!found) break;
      keys.insert(key);
      key = query.digest(0);
    }
  }
  return keys;
}

// A page cannot be found without those before it. So the pages that continue from the oldest page
// precede it in the result, although they may have been used later.
Result<std::vector<Digest>> PageTable::oldest(uint64_t bytes, std::span<const Digest> kept) {
  ASSIGN_OR_RETURN(const std::set<Digest> kept_keys, chains_of(kept));
  ASSIGN_OR_RETURN(Query query,
                   database_.query("SELECT key FROM pages ORDER BY last_used_us, position DESC"));
  std::vector<Digest> keys;
  std::set<Digest> taken;
  uint64_t sum = 0;
  while (sum < bytes) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) break;
    const Digest key = query.digest(0);
    if (kept_keys.contains(key) || taken.contains(key)) continue;
    ASSIGN_OR_RETURN(Query subtree, database_.query(kSubtree));
    subtree.bind(as_blob(key));
    while (sum < bytes) {
      ASSIGN_OR_RETURN(const bool more_behind, subtree.next());
      if (!more_behind) break;
      const Digest behind = subtree.digest(0);
      if (!taken.insert(behind).second) continue;
      keys.push_back(behind);
      sum += subtree.bits(1);
    }
  }
  return keys;
}

Result<std::vector<Digest>> PageTable::pinned_texts() {
  ASSIGN_OR_RETURN(Query query,
                   database_.query("SELECT p.key FROM chunks c "
                                   "JOIN page_uses u ON u.tenant=c.tenant AND u.chunk_id=c.id "
                                   "JOIN pages p ON p.key=u.page "
                                   "WHERE c.pinned=1 AND c.kv_key='' AND u.ends=p.token_count+1"));
  std::vector<Digest> ends;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return ends;
    ends.push_back(query.digest(0));
  }
}

Status PageTable::put_use(const PageUseRow& use) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query put,
                     database_.query("INSERT OR REPLACE INTO page_uses(page, tenant, chunk_id, "
                                     "ends, checksum) SELECT key, ?, ?, ?, ? FROM pages "
                                     "WHERE key=?"));
    return put.bind(use.tenant, use.chunk_id, use.ends, checksum(use), as_blob(use.page)).run();
  });
}

// Notes an owner of this page alone. False if the page is not stored or has that owner already.
Result<bool> PageTable::put_one_owner(const Digest& page, std::string_view tenant,
                                      std::string_view chunk_id) {
  ASSIGN_OR_RETURN(Query put, database_.query("INSERT OR IGNORE INTO page_owners(page, tenant, "
                                              "chunk_id) SELECT key, ?, ? FROM pages "
                                              "WHERE key=? RETURNING page"));
  return put.bind(tenant, chunk_id, as_blob(page)).next();
}

Status PageTable::remove_found_mark(const Digest& page) {
  ASSIGN_OR_RETURN(Query remove, database_.query("DELETE FROM page_owners WHERE page=? AND "
                                                 "tenant='' AND chunk_id='?'"));
  return remove.bind(as_blob(page)).run();
}

Status PageTable::put_owner(const PageOwner& owner) {
  return database_.change([&]() -> Status {
    Digest key = owner.end;
    while (true) {
      ASSIGN_OR_RETURN(const bool added, put_one_owner(key, owner.tenant, owner.chunk_id));
      if (!added) return {};  // not stored, or this page and those before have the owner
      RETURN_IF_ERROR(remove_found_mark(key));
      ASSIGN_OR_RETURN(Query parent, database_.query("SELECT parent_key FROM pages WHERE key=?"));
      ASSIGN_OR_RETURN(const bool found, parent.bind(as_blob(key)).next());
      if (!found) return {};
      key = parent.digest(0);
    }
  });
}

Status PageTable::put_chunk_owners() {
  std::vector<PageOwner> owners;
  {
    ASSIGN_OR_RETURN(Query query, database_.query("SELECT kv_key, tenant, id FROM chunks "
                                                  "WHERE kv_key!=''"));
    while (true) {
      ASSIGN_OR_RETURN(const bool more, query.next());
      if (!more) break;
      const auto end = Digest::from_hex(query.text(0));
      if (end) owners.push_back({*end, query.text(1), query.text(2)});
    }
  }
  for (const PageOwner& owner : owners) RETURN_IF_ERROR(put_owner(owner));
  return {};
}

Status PageTable::put_found(const Digest& key) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query put,
                     database_.query("INSERT OR IGNORE INTO page_owners(page, tenant, chunk_id) "
                                     "VALUES (?, '', ?)"));
    return put.bind(as_blob(key), kFoundPage).run();
  });
}

Status PageTable::take_owners(PageTable& sound) {
  ASSIGN_OR_RETURN(Query query,
                   sound.database_.query("SELECT p.key, o.page IS NOT NULL, o.tenant, o.chunk_id "
                                         "FROM pages p LEFT JOIN page_owners o ON o.page=p.key"));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return {};
    const Digest key = query.digest(0);
    const bool is_owned = query.integer(1) != 0;
    const std::string tenant = query.text(2), chunk_id = query.text(3);
    const Status taken = database_.change([&]() -> Status {
      RETURN_IF_ERROR(remove_found_mark(key));
      if (is_owned) RETURN_IF_ERROR(put_one_owner(key, tenant, chunk_id));
      return {};
    });
    RETURN_IF_ERROR(taken);
  }
}

Result<std::vector<StoredPage>> PageTable::found() {
  ASSIGN_OR_RETURN(Query query, database_.query(CASCADE_PAGE_COLUMNS
                                                "JOIN page_owners o ON o.page=p.key "
                                                "WHERE o.chunk_id='?' ORDER BY p.position, p.key"));
  return read_pages(query);
}

Result<std::vector<StoredPage>> PageTable::unaccounted() {
  ASSIGN_OR_RETURN(
      Query query,
      database_.query(
          "WITH RECURSIVE kept(key) AS ("
          "SELECT p.key FROM pages p WHERE NOT EXISTS "
          "(SELECT 1 FROM page_owners o WHERE o.page=p.key) OR EXISTS "
          "(SELECT 1 FROM page_owners o WHERE o.page=p.key AND (o.chunk_id IN ('', '?') OR "
          "EXISTS (SELECT 1 FROM chunks c "
          "WHERE c.tenant=o.tenant AND c.id=o.chunk_id))) OR "
          "EXISTS (SELECT 1 FROM page_uses u JOIN chunks c ON c.tenant=u.tenant AND "
          "c.id=u.chunk_id WHERE u.page=p.key) "
          "UNION SELECT p.parent_key FROM kept k JOIN pages p ON p.key=k.key) " CASCADE_PAGE_COLUMNS
          "WHERE p.key NOT IN (SELECT key FROM kept) ORDER BY p.position, p.key"));
  return read_pages(query);
}

Result<std::vector<PageUseRow>> PageTable::uses(const Digest& model) {
  ASSIGN_OR_RETURN(Query query,
                   database_.query("SELECT u.page, u.tenant, u.chunk_id, u.ends, u.checksum, "
                                   "p.position FROM page_uses u JOIN pages p ON p.key = u.page "
                                   "JOIN models m ON m.number = p.model WHERE m.digest=?"));
  query.bind(as_blob(model));
  std::vector<PageUseRow> uses;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return uses;
    PageUseRow use = {query.digest(0), query.text(1), query.text(2),
                      static_cast<int32_t>(query.integer(3)), query.integer(5)};
    if (query.integer(4) == checksum(use)) uses.push_back(std::move(use));
  }
}

std::vector<PageUseRow> PageTable::salvage_uses() {
  std::vector<PageUseRow> uses;
  auto query = database_.query("SELECT page, tenant, chunk_id, ends, checksum FROM page_uses");
  if (!query.ok()) return uses;
  while (true) {
    const auto more = query->next();
    if (!more.ok() || !*more) return uses;
    PageUseRow use = {query->digest(0), query->text(1), query->text(2),
                      static_cast<int32_t>(query->integer(3)), 0};
    if (query->integer(4) == checksum(use)) uses.push_back(std::move(use));
  }
}

Status PageTable::remove_uses(const std::string& tenant, const std::string& chunk_id) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query remove,
                     database_.query("DELETE FROM page_uses WHERE tenant=? AND chunk_id=?"));
    return remove.bind(tenant, chunk_id).run();
  });
}

Status PageTable::put_scrub(const Scrub& scrub) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query put, database_.query("INSERT OR REPLACE INTO scrubs VALUES (?,?,?)"));
    return put.bind(scrub.file, scrub.offset, scrub.bytes).run();
  });
}

Status PageTable::remove_scrub(const Scrub& scrub) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query remove, database_.query("DELETE FROM scrubs WHERE file=? AND offset=?"));
    return remove.bind(scrub.file, scrub.offset).run();
  });
}

Result<std::vector<Scrub>> PageTable::scrubs() {
  ASSIGN_OR_RETURN(Query query, database_.query("SELECT file, offset, bytes FROM scrubs"));
  std::vector<Scrub> scrubs;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return scrubs;
    scrubs.push_back({query.integer(0), query.bits(1), query.bits(2)});
  }
}

}  // namespace cascade
