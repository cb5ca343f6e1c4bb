// A chunk's row has the values that a chunk has only once; thoughts, parents and holders have
// tables of their own.
#include "persist/chunk_table.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "persist/chunk_checksum.h"
#include "persist/retrieved_column.h"
#include "persist/search_expression.h"
#include "persist/search_levels.h"
#include "persist/snippet.h"
#include "persist/summaries_column.h"

namespace cascade {
namespace {

constexpr int64_t kSnippetFromMax = 262'144;  // characters at the beginning of a text
// How many rows of damaged pages are skipped one by one; some may not even exist.
constexpr int kSalvageProbesMax = 20'000;
// How many pages of the search index one step merges: some milliseconds of work.
constexpr char kMergeStep[] = "INSERT INTO chunk_search(chunk_search, rank) VALUES('merge', -64)";

constexpr char kPut[] =
    "INSERT INTO chunks(tenant, id, type, published, pinned, name, created_us, last_used_us, "
    "expires_us, hits, registrations, use_checksum, priority, priority_until_us, content_hash, "
    "think_policy, kv_state, kv_tokens, kv_bytes, kv_key, kv_begin, temperature, top_p, top_k, "
    "min_p, repetition_penalty, presence_penalty, frequency_penalty, seed, max_tokens, "
    "logit_bias_count, finish_reason, checksum, text, query_text, raw_text, "
    "client_data, token_ids, approximation, left_out_turns, left_out_steps, left_out_from, "
    "retrieved, summarised_turns, summaries) VALUES "
    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
    "ON CONFLICT(tenant, id) DO UPDATE SET type=excluded.type, published=excluded.published, "
    "pinned=excluded.pinned, name=excluded.name, created_us=excluded.created_us, "
    "last_used_us=excluded.last_used_us, expires_us=excluded.expires_us, hits=excluded.hits, "
    "registrations=excluded.registrations, use_checksum=excluded.use_checksum, "
    "priority=excluded.priority, priority_until_us=excluded.priority_until_us, "
    "content_hash=excluded.content_hash, think_policy=excluded.think_policy, "
    "kv_state=excluded.kv_state, kv_tokens=excluded.kv_tokens, kv_bytes=excluded.kv_bytes, "
    "kv_key=excluded.kv_key, kv_begin=excluded.kv_begin, "
    "temperature=excluded.temperature, top_p=excluded.top_p, top_k=excluded.top_k, "
    "min_p=excluded.min_p, repetition_penalty=excluded.repetition_penalty, "
    "presence_penalty=excluded.presence_penalty, frequency_penalty=excluded.frequency_penalty, "
    "seed=excluded.seed, max_tokens=excluded.max_tokens, "
    "logit_bias_count=excluded.logit_bias_count, finish_reason=excluded.finish_reason, "
    "checksum=excluded.checksum, text=excluded.text, query_text=excluded.query_text, "
    "raw_text=excluded.raw_text, client_data=excluded.client_data, token_ids=excluded.token_ids, "
    "approximation=excluded.approximation, left_out_turns=excluded.left_out_turns, "
    "left_out_steps=excluded.left_out_steps, left_out_from=excluded.left_out_from, "
    "retrieved=excluded.retrieved, summarised_turns=excluded.summarised_turns, "
    "summaries=excluded.summaries "
    "RETURNING number";
constexpr char kLoad[] =
    "SELECT number, tenant, id, type, published, pinned, name, created_us, last_used_us, "
    "expires_us, hits, registrations, use_checksum, priority, priority_until_us, content_hash, "
    "think_policy, kv_state, kv_tokens, kv_bytes, kv_key, kv_begin, temperature, top_p, top_k, "
    "min_p, repetition_penalty, presence_penalty, frequency_penalty, seed, max_tokens, "
    "logit_bias_count, finish_reason, checksum, text, query_text, raw_text, client_data, "
    "token_ids, approximation, left_out_turns, left_out_steps, left_out_from, retrieved, "
    "summarised_turns, summaries FROM chunks WHERE number >= ? ORDER BY number";

Blob as_blob(const std::vector<int32_t>& token_ids) {
  return {reinterpret_cast<const uint8_t*>(token_ids.data()), token_ids.size() * sizeof(int32_t)};
}

std::vector<int32_t> as_token_ids(Blob blob) {
  std::vector<int32_t> token_ids(blob.size() / sizeof(int32_t));
  if (!token_ids.empty()) {
    std::memcpy(token_ids.data(), blob.data(), token_ids.size() * sizeof(int32_t));
  }
  return token_ids;
}

void bind(Query& query, const Chunk& chunk) {
  const GenerationRecord& made = chunk.generation;
  const LeftOut left_out = made.left_out.value_or(LeftOut());
  const Summarised summarised = made.summarised.value_or(Summarised());
  query.bind(chunk.tenant, chunk.id, to_string(chunk.type), chunk.published, chunk.pinned,
             chunk.name, chunk.created_us, chunk.last_used_us, chunk.expires_us, chunk.hits,
             chunk.registrations, chunk_use_checksum(chunk), chunk.priority,
             chunk.priority_until_us, chunk.content_hash, to_string(chunk.think_policy),
             to_string(chunk.kv_state), chunk.kv_tokens, chunk.kv_bytes, chunk.kv_key,
             chunk.kv_begin);
  query.bind(made.temperature, made.top_p, made.top_k, made.min_p, made.repetition_penalty,
             made.presence_penalty, made.frequency_penalty, made.seed, made.max_tokens,
             made.logit_bias_count, made.finish_reason, chunk_checksum(chunk), chunk.text,
             chunk.query_text, chunk.raw_text, chunk.client_data, as_blob(chunk.token_ids),
             to_string(made.approximation), left_out.turns, left_out.steps, made.left_out_from,
             retrieved_column(made.retrieved), summarised.turns,
             summaries_column(summarised.chunk_ids));
}

// A row as it is stored.
struct Row {
  int64_t number = 0;
  Chunk chunk;
  int64_t use_checksum = 0;
  int64_t checksum = 0;
  bool names_known = true;  // whether all names of enumerations are known
};

int32_t narrow(int64_t number) {
  return static_cast<int32_t>(number);  // a number that does not fit fails the checksum
}

Row read_row(const Query& query) {
  Row row;
  int column = 0;
  const auto integer = [&] { return query.integer(column++); };
  const auto real = [&] { return query.real(column++); };
  const auto text = [&] { return query.text(column++); };
  const auto named = [&](auto& value, const auto& parse) {
    const auto parsed = parse(text());
    row.names_known = row.names_known && parsed.has_value();
    if (parsed) value = *parsed;
  };
  Chunk& chunk = row.chunk;
  GenerationRecord& made = chunk.generation;
  row.number = integer();
  chunk.tenant = text();
  chunk.id = text();
  named(chunk.type, chunk_type_from_string);
  chunk.published = integer() != 0;
  chunk.pinned = integer() != 0;
  chunk.name = text();
  chunk.created_us = integer();
  chunk.last_used_us = integer();
  chunk.expires_us = integer();
  chunk.hits = integer();
  chunk.registrations = integer();
  row.use_checksum = integer();
  chunk.priority = narrow(integer());
  chunk.priority_until_us = integer();
  chunk.content_hash = text();
  named(chunk.think_policy, think_policy_from_string);
  named(chunk.kv_state, kv_state_from_string);
  chunk.kv_tokens = integer();
  chunk.kv_bytes = integer();
  chunk.kv_key = text();
  chunk.kv_begin = integer();
  for (double* number : {&made.temperature, &made.top_p}) *number = real();
  made.top_k = narrow(integer());
  for (double* number :
       {&made.min_p, &made.repetition_penalty, &made.presence_penalty, &made.frequency_penalty}) {
    *number = real();
  }
  made.seed = static_cast<uint64_t>(integer());
  made.max_tokens = narrow(integer());
  made.logit_bias_count = narrow(integer());
  made.finish_reason = text();
  row.checksum = integer();
  chunk.text = text();
  chunk.query_text = text();
  chunk.raw_text = text();
  chunk.client_data = text();
  chunk.token_ids = as_token_ids(query.blob(column++));
  named(made.approximation, approximation_from_string);
  LeftOut left_out;
  left_out.turns = integer();
  left_out.steps = integer();
  if (left_out != LeftOut()) made.left_out = left_out;
  made.left_out_from = text();
  made.retrieved = retrieved_from_column(text());
  Summarised summarised;
  summarised.turns = integer();
  summarised.chunk_ids = summaries_from_column(text());
  if (summarised != Summarised()) made.summarised = std::move(summarised);
  return row;
}

// Reads rows of a table that belong to chunks. at(number) returns the rows of the chunk with that
// number; numbers must be asked for in ascending order.
template <class Value, class Read>
class Belonging {
 public:
  Belonging(Query query, Read read) : query_(std::move(query)), read_(std::move(read)) {}

  Result<std::vector<Value>> at(int64_t number) {
    std::vector<Value> values;
    while (true) {
      if (!have_row_ && !ended_) {
        ASSIGN_OR_RETURN(have_row_, query_.next());
        ended_ = !have_row_;
      }
      if (!have_row_ || query_.integer(0) > number) return values;
      if (query_.integer(0) == number) values.push_back(read_(query_));
      have_row_ = false;
    }
  }

 private:
  Query query_;
  Read read_;
  bool have_row_ = false;
  bool ended_ = false;
};

// An unknown kind fails the row's checksum.
Holder read_holder(const Query& query) {
  return {.kind = holder_kind_from_string(query.text(1)).value_or(HolderKind::kRetention),
          .label = query.text(2),
          .count = query.integer(3),
          .expires_us = query.integer(4),
          .priority = narrow(query.integer(5)),
          .priority_until_us = query.integer(6),
          .pinned = query.integer(7) != 0};
}

// Whether the rows that belong to a chunk must be readable. Otherwise unreadable ones count as
// absent, and if there were any, the chunk's checksum fails.
enum class Belongings { kRequired, kOptional };

// Calls take(Row) for each row from number `from` on, with its spans, parents and holders.
template <class Take>
Status for_rows(Database& database, int64_t from, Belongings belongings, const Take& take) {
  ASSIGN_OR_RETURN(Query spans_query,
                   database.query("SELECT chunk, begin_token, end_token, closed FROM think_spans "
                                  "ORDER BY chunk, place"));
  ASSIGN_OR_RETURN(Query parents_query,
                   database.query("SELECT chunk, parent_id FROM parents ORDER BY chunk, place"));
  const auto read_span = [](const Query& query) {
    return ThinkSpan{narrow(query.integer(1)), narrow(query.integer(2)), query.integer(3) != 0};
  };
  ASSIGN_OR_RETURN(
      Query holders_query,
      database.query("SELECT chunk, kind, label, count, expires_us, priority, priority_until_us, "
                     "pinned FROM holders ORDER BY chunk, place"));
  const auto read_parent = [](const Query& query) { return query.text(1); };
  Belonging<Holder, decltype(&read_holder)> holders(std::move(holders_query), &read_holder);
  Belonging<ThinkSpan, decltype(read_span)> spans(std::move(spans_query), read_span);
  Belonging<std::string, decltype(read_parent)> parents(std::move(parents_query), read_parent);
  ASSIGN_OR_RETURN(Query query, database.query(kLoad));
  query.bind(from);
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return {};
    Row row = read_row(query);
    auto row_spans = spans.at(row.number);
    auto row_parents = parents.at(row.number);
    auto row_holders = holders.at(row.number);
    if (belongings == Belongings::kRequired) {
      if (!row_spans.ok()) return row_spans.error();
      if (!row_parents.ok()) return row_parents.error();
      if (!row_holders.ok()) return row_holders.error();
    }
    if (row_spans.ok()) row.chunk.think_spans = *std::move(row_spans);
    if (row_parents.ok()) row.chunk.parent_ids = *std::move(row_parents);
    if (row_holders.ok()) row.chunk.holders = *std::move(row_holders);
    take(std::move(row));
  }
}

bool is_whole(const Row& row) {
  return row.names_known && row.checksum == chunk_checksum(row.chunk);
}

// Returns whether the counters had to be corrected.
bool correct_counters(Row& row) {
  if (row.use_checksum == chunk_use_checksum(row.chunk)) return false;
  row.chunk.hits = 0;
  row.chunk.registrations = 1;
  row.chunk.last_used_us = row.chunk.created_us;
  return true;
}

std::string row_name(const Row& row) {
  return "chunk row " + std::to_string(row.number);
}

}  // namespace

Status ChunkTable::put(const Chunk& chunk) {
  return database_.change([&]() -> Status {
    int64_t number = 0;
    {
      ASSIGN_OR_RETURN(Query put, database_.query(kPut));
      bind(put, chunk);
      ASSIGN_OR_RETURN(const bool stored, put.next());
      CHECK(stored);
      number = put.integer(0);
      RETURN_IF_ERROR(put.run());
    }
    for (const char* drop :
         {"DELETE FROM think_spans WHERE chunk=?", "DELETE FROM parents WHERE chunk=?",
          "DELETE FROM holders WHERE chunk=?"}) {
      ASSIGN_OR_RETURN(Query dropped, database_.query(drop));
      RETURN_IF_ERROR(dropped.bind(number).run());
    }
    return put_belongings(number, chunk);
  });
}

Status ChunkTable::put_belongings(int64_t number, const Chunk& chunk) {
  int64_t place = 0;
  for (const ThinkSpan& span : chunk.think_spans) {
    ASSIGN_OR_RETURN(Query add, database_.query("INSERT INTO think_spans VALUES (?,?,?,?,?)"));
    RETURN_IF_ERROR(add.bind(number, place++, span.begin, span.end, span.closed).run());
  }
  place = 0;
  for (const std::string& id : chunk.parent_ids) {
    ASSIGN_OR_RETURN(Query add, database_.query("INSERT INTO parents VALUES (?,?,?)"));
    RETURN_IF_ERROR(add.bind(number, place++, id).run());
  }
  place = 0;
  for (const Holder& holder : chunk.holders) {
    ASSIGN_OR_RETURN(Query add, database_.query("INSERT INTO holders VALUES (?,?,?,?,?,?,?,?,?)"));
    add.bind(number, place++, to_string(holder.kind), holder.label, holder.count);
    add.bind(holder.expires_us, holder.priority, holder.priority_until_us, holder.pinned);
    RETURN_IF_ERROR(add.run());
  }
  return {};
}

Status ChunkTable::touch(const std::string& tenant, const std::string& id, int64_t hits,
                         int64_t registrations, int64_t last_used_us) {
  Chunk used;
  used.tenant = tenant;
  used.id = id;
  used.hits = hits;
  used.registrations = registrations;
  used.last_used_us = last_used_us;
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query update,
                     database_.query("UPDATE chunks SET hits=?, registrations=?, last_used_us=?, "
                                     "use_checksum=? WHERE tenant=? AND id=?"));
    return update.bind(hits, registrations, last_used_us, chunk_use_checksum(used), tenant, id)
        .run();
  });
}

Status ChunkTable::remove(const std::string& tenant, const std::string& id) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query remove, database_.query("DELETE FROM chunks WHERE tenant=? AND id=?"));
    return remove.bind(tenant, id).run();
  });
}

Result<std::vector<Chunk>> ChunkTable::load(Findings& findings) {
  std::vector<Chunk> chunks;
  RETURN_IF_ERROR(for_rows(database_, 0, Belongings::kRequired, [&](Row row) {
    if (!is_whole(row)) {
      findings.push_back({row_name(row), "does not have its checksum: it is left out"});
      return;
    }
    if (correct_counters(row)) {
      findings.push_back(
          {row_name(row), "its counters do not have their checksum: they begin anew"});
    }
    chunks.push_back(std::move(row.chunk));
  }));
  std::ranges::stable_sort(chunks, {}, &Chunk::created_us);
  return chunks;
}

std::vector<Chunk> ChunkTable::salvage() {
  std::vector<Chunk> chunks;
  int64_t next = 0;
  for (int probe = 0; probe < kSalvageProbesMax; ++probe) {
    const Status read = for_rows(database_, next, Belongings::kOptional, [&](Row row) {
      next = row.number + 1;
      if (!is_whole(row)) return;
      correct_counters(row);
      chunks.push_back(std::move(row.chunk));
    });
    if (read.ok()) break;
    ++next;  // after the row that cannot be read
  }
  return chunks;
}

Result<std::vector<Digest>> ChunkTable::pinned_chains() {
  ASSIGN_OR_RETURN(Query query, database_.query("SELECT kv_key FROM chunks WHERE pinned=1"));
  std::vector<Digest> ends;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return ends;
    if (const auto end = Digest::from_hex(query.text(0))) ends.push_back(*end);
  }
}

Result<size_t> ChunkTable::repair() {
  std::vector<int64_t> lost;
  std::vector<Chunk> corrected;
  RETURN_IF_ERROR(for_rows(database_, 0, Belongings::kRequired, [&](Row row) {
    if (!is_whole(row)) return lost.push_back(row.number);
    if (correct_counters(row)) corrected.push_back(std::move(row.chunk));
  }));
  const Status removed = database_.change([&]() -> Status {
    for (const int64_t number : lost) {
      ASSIGN_OR_RETURN(Query remove, database_.query("DELETE FROM chunks WHERE number=?"));
      RETURN_IF_ERROR(remove.bind(number).run());
    }
    return rebuild_search(database_);
  });
  if (!removed.ok()) return removed.error();
  for (const Chunk& chunk : corrected) {
    RETURN_IF_ERROR(
        touch(chunk.tenant, chunk.id, chunk.hits, chunk.registrations, chunk.last_used_us));
  }
  return lost.size() + corrected.size();
}

Result<std::vector<SearchHit>> ChunkTable::search(std::string_view tenant, std::string_view query,
                                                  size_t limit) {
  const auto expression = all_words(tenant, query);
  if (!expression) {
    return invalid_argument("query", "must have 1 to " + std::to_string(kSearchWordsMax) +
                                         " words and at most " + std::to_string(kSearchBytesMax) +
                                         " bytes");
  }
  ASSIGN_OR_RETURN(
      Query found,
      database_.query("SELECT c.id, substr(c.text, 1, ?) FROM chunk_search "
                      "JOIN chunks c ON c.number = chunk_search.rowid "
                      "WHERE chunk_search MATCH ? AND (c.tenant = ? OR c.published = 1) "
                      "ORDER BY chunk_search.rowid DESC LIMIT ?"));
  found.bind(kSnippetFromMax, *expression, tenant, static_cast<int64_t>(limit));
  std::vector<SearchHit> hits;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, found.next());
    if (!more) return hits;
    hits.push_back({found.text(0), snippet_of(found.text(1), query)});
  }
}

Result<bool> ChunkTable::forget_step() {
  RETURN_IF_ERROR(limit_search_levels(database_));
  const int before = sqlite3_total_changes(database_.handle());
  RETURN_IF_ERROR(database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query merge, database_.query(kMergeStep));
    return merge.run();
  }));
  // As FTS5 documents, a merge that finds nothing to do changes fewer than two rows.
  return sqlite3_total_changes(database_.handle()) - before >= 2;
}

Status ChunkTable::verify_search() {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query check, database_.query("INSERT INTO chunk_search(chunk_search, rank) "
                                                  "VALUES('integrity-check', 1)"));
    return check.run();
  });
}

}  // namespace cascade
