// SQL. docs/data_files.md explains the tables.
#include "persist/schema.h"

#include <string>

namespace cascade {
namespace {

// Large columns come last, so that a row can be looked at without reading its texts.
constexpr char kVersion1[] = R"sql(
CREATE TABLE chunks(
  number INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  published INTEGER NOT NULL,
  pinned INTEGER NOT NULL,
  name TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  last_used_us INTEGER NOT NULL,
  expires_us INTEGER NOT NULL,
  hits INTEGER NOT NULL,
  registrations INTEGER NOT NULL,
  use_checksum INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  priority_until_us INTEGER NOT NULL,
  content_hash TEXT NOT NULL,
  think_policy TEXT NOT NULL,
  kv_state TEXT NOT NULL,
  kv_tokens INTEGER NOT NULL,
  kv_bytes INTEGER NOT NULL,
  kv_key TEXT NOT NULL,
  kv_begin INTEGER NOT NULL,
  temperature REAL NOT NULL,
  top_p REAL NOT NULL,
  top_k INTEGER NOT NULL,
  min_p REAL NOT NULL,
  repetition_penalty REAL NOT NULL,
  presence_penalty REAL NOT NULL,
  frequency_penalty REAL NOT NULL,
  seed INTEGER NOT NULL,
  max_tokens INTEGER NOT NULL,
  logit_bias_count INTEGER NOT NULL,
  finish_reason TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  text TEXT NOT NULL,
  query_text TEXT NOT NULL,
  raw_text TEXT NOT NULL,
  client_data TEXT NOT NULL,
  token_ids BLOB NOT NULL,
  UNIQUE(tenant, id)
) STRICT;
CREATE INDEX chunks_pinned ON chunks(kv_key) WHERE pinned=1;
CREATE TABLE think_spans(
  chunk INTEGER NOT NULL REFERENCES chunks(number) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  begin_token INTEGER NOT NULL,
  end_token INTEGER NOT NULL,
  closed INTEGER NOT NULL,
  PRIMARY KEY(chunk, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE parents(
  chunk INTEGER NOT NULL REFERENCES chunks(number) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  parent_id TEXT NOT NULL,
  PRIMARY KEY(chunk, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE pending_chains(
  number INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  chunk_id TEXT NOT NULL,
  model BLOB NOT NULL,
  begin_token INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  token_ids BLOB NOT NULL,
  UNIQUE(tenant, chunk_id),
  FOREIGN KEY(tenant, chunk_id) REFERENCES chunks(tenant, id) ON DELETE CASCADE
) STRICT;

CREATE VIRTUAL TABLE chunk_search USING fts5(
  tenant, published, name, text, query_text, content='chunks', content_rowid='number');
CREATE TRIGGER chunk_search_insert AFTER INSERT ON chunks BEGIN
  INSERT INTO chunk_search(rowid, tenant, published, name, text, query_text)
    VALUES (new.number, new.tenant, new.published, new.name, new.text, new.query_text);
END;
CREATE TRIGGER chunk_search_delete AFTER DELETE ON chunks BEGIN
  INSERT INTO chunk_search(chunk_search, rowid, tenant, published, name, text, query_text)
    VALUES ('delete', old.number, old.tenant, old.published, old.name, old.text, old.query_text);
END;
CREATE TRIGGER chunk_search_update AFTER UPDATE OF published, name, text, query_text ON chunks
  WHEN old.published IS NOT new.published OR old.name IS NOT new.name
    OR old.text IS NOT new.text OR old.query_text IS NOT new.query_text
BEGIN
  INSERT INTO chunk_search(chunk_search, rowid, tenant, published, name, text, query_text)
    VALUES ('delete', old.number, old.tenant, old.published, old.name, old.text, old.query_text);
  INSERT INTO chunk_search(rowid, tenant, published, name, text, query_text)
    VALUES (new.number, new.tenant, new.published, new.name, new.text, new.query_text);
END;

CREATE TABLE sessions(
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  last_used_us INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY(tenant, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE turns(
  tenant TEXT NOT NULL,
  session TEXT NOT NULL,
  turn INTEGER NOT NULL,
  output_id TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY(tenant, session, turn),
  FOREIGN KEY(tenant, session) REFERENCES sessions(tenant, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE policies(
  tenant TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY(tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE models(
  number INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  weight_type TEXT NOT NULL,
  kv_type TEXT NOT NULL,
  layout_version INTEGER NOT NULL,
  numerics_version INTEGER NOT NULL
) STRICT;
CREATE TABLE files(
  number INTEGER PRIMARY KEY,
  file_id INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN ('open', 'abandoned', 'removing')),
  bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE pages(
  key BLOB NOT NULL PRIMARY KEY,
  parent_key BLOB NOT NULL,
  tenant TEXT NOT NULL,
  model INTEGER NOT NULL REFERENCES models(number),
  position INTEGER NOT NULL,
  token_count INTEGER NOT NULL,
  token_ids BLOB NOT NULL,
  last_used_us INTEGER NOT NULL,
  verified INTEGER NOT NULL,
  file INTEGER NOT NULL REFERENCES files(number),
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  page_bytes INTEGER NOT NULL,
  compressed INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX pages_by_place ON pages(file, offset);
CREATE INDEX pages_by_use ON pages(last_used_us, position DESC);
CREATE TABLE page_uses(
  page BLOB NOT NULL REFERENCES pages(key) ON DELETE CASCADE,
  tenant TEXT NOT NULL,
  chunk_id TEXT NOT NULL,
  ends INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY(page, tenant, chunk_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX page_uses_of_chunk ON page_uses(tenant, chunk_id);
CREATE TABLE scrubs(
  file INTEGER NOT NULL REFERENCES files(number) ON DELETE CASCADE,
  offset INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY(file, offset)
) STRICT, WITHOUT ROWID;

CREATE TABLE state(
  one INTEGER PRIMARY KEY CHECK(one = 1),
  commits INTEGER NOT NULL,
  complete INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0);
)sql";

// Holders of chunks; chains that are known although they are not pending; the chunk for which a
// page was kept.
constexpr char kVersion2[] = R"sql(
CREATE TABLE holders(
  chunk INTEGER NOT NULL REFERENCES chunks(number) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  count INTEGER NOT NULL,
  expires_us INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  priority_until_us INTEGER NOT NULL,
  pinned INTEGER NOT NULL,
  PRIMARY KEY(chunk, place)
) STRICT, WITHOUT ROWID;
ALTER TABLE pending_chains ADD COLUMN pending INTEGER NOT NULL DEFAULT 1;
ALTER TABLE pending_chains RENAME TO chains;
CREATE TABLE page_owners(
  page BLOB NOT NULL REFERENCES pages(key) ON DELETE CASCADE,
  tenant TEXT NOT NULL,
  chunk_id TEXT NOT NULL,
  PRIMARY KEY(page, tenant, chunk_id)
) STRICT, WITHOUT ROWID;
)sql";

// The index finds the pages that continue from a page: to make space, they are removed before the
// page itself.
constexpr char kVersion3[] = R"sql(
CREATE INDEX pages_by_parent ON pages(parent_key);
)sql";

// The attention mode of K and V: earlier programs stored only dense ones.
constexpr char kVersion4[] = R"sql(
ALTER TABLE pages ADD COLUMN attention TEXT NOT NULL DEFAULT 'dense';
ALTER TABLE chains ADD COLUMN attention TEXT NOT NULL DEFAULT 'dense';
)sql";

// What an output was computed after: earlier programs had only exact K and V.
constexpr char kVersion5[] = R"sql(
ALTER TABLE chunks ADD COLUMN approximation TEXT NOT NULL DEFAULT 'none';
)sql";

// What sessions do when they are longer than their room, and what prompts lacked: earlier programs
// refused such prompts.
constexpr char kVersion6[] = R"sql(
ALTER TABLE sessions ADD COLUMN on_overflow TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN left_out_turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chunks ADD COLUMN left_out_turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chunks ADD COLUMN left_out_steps INTEGER NOT NULL DEFAULT 0;
)sql";

// Where the turns are that prompts lack, and what came back of them: earlier programs brought
// nothing back.
constexpr char kVersion7[] = R"sql(
ALTER TABLE chunks ADD COLUMN left_out_from TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN retrieved TEXT NOT NULL DEFAULT '';
)sql";

// The summaries that stood in for turns that prompts lacked: earlier programs wrote none.
constexpr char kVersion8[] = R"sql(
ALTER TABLE chunks ADD COLUMN summarised_turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chunks ADD COLUMN summaries TEXT NOT NULL DEFAULT '';
)sql";

constexpr const char* kMigrations[] = {kVersion1, kVersion2, kVersion3, kVersion4,
                                       kVersion5, kVersion6, kVersion7, kVersion8};

Status migrate_step(Database& database, const char* statements, int64_t to) {
  return database.change([&]() -> Status {
    RETURN_IF_ERROR(database.execute(statements));
    const std::string mark = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                             "; PRAGMA user_version=" + std::to_string(to) + ";";
    return database.execute(mark.c_str());
  });
}

}  // namespace

Migrations schema_migrations() {
  return kMigrations;
}

Status migrate(Database& database, Migrations migrations) {
  ASSIGN_OR_RETURN(const int64_t version, database.number("PRAGMA user_version"));
  ASSIGN_OR_RETURN(const int64_t application, database.number("PRAGMA application_id"));
  ASSIGN_OR_RETURN(const int64_t tables, database.number("SELECT count(*) FROM sqlite_schema"));
  const auto newest = static_cast<int64_t>(migrations.size());
  if (application != kApplicationId && (application != 0 || version != 0 || tables != 0)) {
    return data_corrupt(database.path(), "is not a database of Cascade");
  }
  if (version > newest) {
    return unsupported(database.path(), "has schema version " + std::to_string(version) +
                                            ", this program knows " + "versions up to " +
                                            std::to_string(newest) +
                                            ": use the newer program, or another state directory");
  }
  if (version < 0) return data_corrupt(database.path(), "has a negative schema version");
  for (int64_t at = version; at < newest; ++at) {
    RETURN_IF_ERROR(migrate_step(database, migrations[static_cast<size_t>(at)], at + 1));
    RETURN_IF_ERROR(database.commit());
  }
  return {};
}

}  // namespace cascade
