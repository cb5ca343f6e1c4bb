// SQL of the table pending_chains.
#include "persist/chain_table.h"

#include <cstring>
#include <span>

#include "persist/row_checksum.h"

namespace cascade {
namespace {

int64_t checksum(const PendingChain& chain) {
  return RowChecksum()
      .add(std::span<const uint8_t>(chain.model.bytes))
      .add_all(chain.tenant, chain.chunk_id, chain.begin)
      .add(std::span<const int32_t>(chain.token_ids))
      .value();
}

}  // namespace

Status ChainTable::put(const PendingChain& chain) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query put,
                     database_.query("INSERT OR REPLACE INTO pending_chains(tenant, chunk_id, "
                                     "model, begin_token, checksum, token_ids) "
                                     "SELECT tenant, id, ?, ?, ?, ? "
                                     "FROM chunks WHERE tenant=? AND id=?"));
    const Blob ids = {reinterpret_cast<const uint8_t*>(chain.token_ids.data()),
                      chain.token_ids.size() * sizeof(int32_t)};
    return put
        .bind(Blob(chain.model.bytes), chain.begin, checksum(chain), ids, chain.tenant,
              chain.chunk_id)
        .run();
  });
}

Status ChainTable::remove(const std::string& tenant, const std::string& chunk_id) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query remove,
                     database_.query("DELETE FROM pending_chains WHERE tenant=? AND chunk_id=?"));
    return remove.bind(tenant, chunk_id).run();
  });
}

Result<std::vector<PendingChain>> ChainTable::load(const Digest& model) {
  ASSIGN_OR_RETURN(Query query,
                   database_.query("SELECT tenant, chunk_id, begin_token, checksum, token_ids "
                                   "FROM pending_chains WHERE model=? ORDER BY number"));
  query.bind(Blob(model.bytes));
  std::vector<PendingChain> chains;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return chains;
    PendingChain chain = {model, query.text(0), query.text(1), {}, query.integer(2)};
    const Blob ids = query.blob(4);
    chain.token_ids.resize(ids.size() / sizeof(int32_t));
    if (!chain.token_ids.empty()) {
      std::memcpy(chain.token_ids.data(), ids.data(), chain.token_ids.size() * sizeof(int32_t));
    }
    if (query.integer(3) == checksum(chain)) chains.push_back(std::move(chain));
  }
}

}  // namespace cascade
