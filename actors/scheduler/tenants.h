// Owners of chains: tenants by name, their attention modes, and their numbers in the index.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/attention_mode.h"
#include "base/hash.h"
#include "base/result.h"
#include "cache/chain_index.h"

namespace cascade {

// A tenant's chains belong to one *owner* for each attention mode: so K and V are only found by
// requests of the same mode, and the keys of pages differ. One thread. Names come from the daemon's
// options, so there are few.
class Tenants {
 public:
  // The most modes that a tenant may add() beside dense and the daemon's own mode: each is kept
  // until the daemon ends.
  static constexpr size_t kModesMax = 32;

  // `root_key` gives the key before the first page of a tenant's dense chains. `layer_windows` are
  // those of the model's layers. `own_mode` is that of the daemon. `index`, which numbers the
  // owners, outlives this.
  Tenants(ChainIndex& index, std::function<Digest(const std::string&)> root_key,
          std::vector<int> layer_windows = {}, const AttentionMode& own_mode = {});

  // The number of the owner; an owner that has none gets one.
  TenantId id(const std::string& name, const AttentionMode& mode = {});
  // Does the same for a mode that a client has chosen. Error kResourceExhausted, field "attention":
  // the tenant has used kModesMax other modes.
  Result<TenantId> add(const std::string& name, const AttentionMode& mode);
  // nullopt: the owner has no number.
  std::optional<TenantId> find(const std::string& name, const AttentionMode& mode = {}) const;
  // The pinned pages in memory of owners with a window: such pages are not on disk.
  size_t pinned_unwritten() const;
  // All owners of the tenant's chains; those with a base come before it.
  std::vector<TenantId> owners(const std::string& name) const;
  // nullptr: the number is kPublic, or is not an owner's.
  const std::string* name_of(TenantId id) const;
  // The mode that decides which pages a sequence needs: what any layer of the model sees. That is
  // `mode` itself if it has no window.
  AttentionMode widest(const AttentionMode& mode) const;

 private:
  ChainIndex& index_;
  std::function<Digest(const std::string&)> root_key_;
  const std::vector<int> layer_windows_;
  const AttentionMode own_mode_;
  std::map<std::string, std::map<AttentionMode, TenantId>> owners_;
  std::map<TenantId, std::string> names_;
  std::map<std::string, size_t> chosen_;  // how many modes each tenant has added
};

}  // namespace cascade
