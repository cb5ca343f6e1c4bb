// SQL of the table chains.
#include "persist/chain_table.h"

#include <cstring>
#include <span>

#include "persist/row_checksum.h"

namespace cascade {
namespace {

// Earlier programs added no attention mode: all chains were dense.
int64_t checksum(const ChunkChain& chain) {
  RowChecksum sum;
  sum.add(std::span<const uint8_t>(chain.model.bytes))
      .add_all(chain.tenant, chain.chunk_id, chain.begin)
      .add(std::span<const int32_t>(chain.token_ids));
  if (!chain.attention.is_dense()) sum.add_all(to_string(chain.attention));
  return sum.value();
}

// nullopt if the row is damaged.
std::optional<ChunkChain> read_row(const Query& query, const Digest& model) {
  const auto attention = parse_attention_mode(query.text(6));
  if (!attention.ok()) return std::nullopt;
  ChunkChain chain = {
      model, query.text(0), query.text(1), {}, query.integer(2), query.integer(5) != 0, *attention};
  const Blob ids = query.blob(4);
  chain.token_ids.resize(ids.size() / sizeof(int32_t));
  if (!chain.token_ids.empty()) {
    std::memcpy(chain.token_ids.data(), ids.data(), chain.token_ids.size() * sizeof(int32_t));
  }
  if (query.integer(3) != checksum(chain)) return std::nullopt;
  return chain;
}

Result<std::vector<ChunkChain>> read_rows(Query& query, const Digest& model) {
  std::vector<ChunkChain> chains;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return chains;
    if (auto chain = read_row(query, model)) chains.push_back(std::move(*chain));
  }
}

}  // namespace

// `pending` is not a part of the checksum, because rows of the schema's first version lack it.
Status ChainTable::put(const ChunkChain& chain) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query put,
                     database_.query("INSERT OR REPLACE INTO chains(tenant, chunk_id, model, "
                                     "begin_token, checksum, token_ids, pending, "
                                     "attention) SELECT tenant, id, ?, ?, ?, ?, ?, ? "
                                     "FROM chunks WHERE tenant=? AND id=?"));
    const Blob ids = {reinterpret_cast<const uint8_t*>(chain.token_ids.data()),
                      chain.token_ids.size() * sizeof(int32_t)};
    return put
        .bind(Blob(chain.model.bytes), chain.begin, checksum(chain), ids, chain.pending,
              to_string(chain.attention), chain.tenant, chain.chunk_id)
        .run();
  });
}

Status ChainTable::settle(const std::string& tenant, const std::string& chunk_id) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query settle, database_.query("UPDATE chains SET pending=0 "
                                                   "WHERE tenant=? AND chunk_id=?"));
    return settle.bind(tenant, chunk_id).run();
  });
}

Result<std::optional<ChunkChain>> ChainTable::find(const Digest& model, const std::string& tenant,
                                                   const std::string& chunk_id) {
  ASSIGN_OR_RETURN(
      Query query,
      database_.query("SELECT tenant, chunk_id, begin_token, checksum, token_ids, "
                      "pending, attention FROM chains WHERE model=? AND tenant=? AND chunk_id=?"));
  query.bind(Blob(model.bytes), tenant, chunk_id);
  ASSIGN_OR_RETURN(std::vector<ChunkChain> found, read_rows(query, model));
  if (found.empty()) return std::optional<ChunkChain>();
  return std::optional(std::move(found.front()));
}

Result<std::vector<ChunkChain>> ChainTable::load(const Digest& model) {
  ASSIGN_OR_RETURN(
      Query query,
      database_.query("SELECT c.tenant, c.chunk_id, c.begin_token, c.checksum, c.token_ids, "
                      "c.pending, c.attention FROM chains c JOIN chunks k ON k.tenant=c.tenant AND "
                      "k.id=c.chunk_id WHERE c.model=? AND (c.pending=1 OR k.pinned=1) "
                      "ORDER BY c.number"));
  query.bind(Blob(model.bytes));
  return read_rows(query, model);
}

std::vector<ChunkChain> ChainTable::salvage() {
  std::vector<ChunkChain> chains;
  // A damaged database may be of an earlier version, in which all chains were dense.
  const auto has_modes =
      database_.number("SELECT count(*) FROM pragma_table_info('chains') WHERE name='attention'");
  auto query = has_modes.ok() && *has_modes > 0
                   ? database_.query(
                         "SELECT tenant, chunk_id, begin_token, checksum, token_ids, pending, "
                         "attention, model FROM chains ORDER BY number")
                   : database_.query(
                         "SELECT tenant, chunk_id, begin_token, checksum, token_ids, pending, "
                         "'dense', model FROM chains ORDER BY number");
  if (!query.ok()) return chains;
  while (true) {
    const auto more = query->next();
    if (!more.ok() || !*more) return chains;
    Digest model;
    const Blob bytes = query->blob(7);
    if (bytes.size() != model.bytes.size()) continue;
    std::memcpy(model.bytes.data(), bytes.data(), bytes.size());
    if (auto chain = read_row(*query, model)) chains.push_back(std::move(*chain));
  }
}

}  // namespace cascade
