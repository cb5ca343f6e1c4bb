// Ordered maps: the beginning of an id finds its chunk as quickly as the whole id.
#include "cache/chunk_registry.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "cache/holders.h"

namespace cascade {
namespace {

// Real text has 3 to 5 bytes per token.
constexpr size_t kTextBytesPerToken = 3;

constexpr size_t kIdPrefixMin = 8;  // "output_" and a digit: shorter beginnings match any id
constexpr size_t kIdShownMax = 64;  // the longest id from a client in an error

std::string content_key(const Chunk& chunk) {
  return std::to_string(static_cast<int>(chunk.type)) + chunk.content_hash;
}

size_t bytes_of_ids(const std::vector<std::string>& ids) {
  size_t bytes = 0;
  for (const std::string& id : ids) bytes += sizeof(std::string) + id.size();
  return bytes;
}

// The bytes that a chunk takes: its texts, its token ids (which may come later), and the entry
// itself.
size_t bytes_of(const Chunk& chunk) {
  const size_t ids = std::max(chunk.token_ids.size(), chunk.text.size() / kTextBytesPerToken);
  size_t bytes = chunk.text.size() + chunk.query_text.size() + chunk.raw_text.size() +
                 chunk.client_data.size() + ids * sizeof(int32_t) + sizeof(ChunkEntry);
  for (const Retrieved& part : chunk.generation.retrieved) {
    bytes += sizeof(Retrieved) + part.chunk_id.size();
  }
  if (const auto& summarised = chunk.generation.summarised) {
    bytes += bytes_of_ids(summarised->chunk_ids);
  }
  return bytes + bytes_of_ids(chunk.parent_ids);
}

std::string quoted(std::string_view id) {
  return '"' + std::string(id.substr(0, kIdShownMax)) + '"';
}

}  // namespace

bool ChunkRegistry::visible(const ChunkEntry& entry) const {
  const Chunk& chunk = entry.chunk;
  return chunk.pinned || chunk.expires_us == 0 || chunk.expires_us > now_us_;
}

ChunkEntry* ChunkRegistry::same_content(const Chunk& chunk) {
  const auto tenant = tenants_.find(chunk.tenant);
  if (tenant == tenants_.end()) return nullptr;
  const auto [first, last] = tenant->second.by_content.equal_range(content_key(chunk));
  const auto present =
      std::find_if(first, last, [&](const auto& one) { return visible(*one.second); });
  return present != last ? present->second : nullptr;
}

// The longer list of parents wins: it says more about what the same prompt consists of. Of two
// equally long lists, the newer one wins, since its parents are likelier to still exist.
void ChunkRegistry::adopt_parents(ChunkEntry& entry, std::vector<std::string>&& parent_ids) {
  if (parent_ids.empty() || parent_ids.size() < entry.chunk.parent_ids.size()) return;
  const size_t more = bytes_of_ids(parent_ids) - bytes_of_ids(entry.chunk.parent_ids);
  entry.chunk.parent_ids = std::move(parent_ids);
  entry.bytes += more;
  bytes_.add(entry.chunk.tenant, static_cast<int64_t>(more));
}

// Finds the tenant's chunk of the same content, counts one more registration of it and adds the
// holders of `chunk` to it. nullptr if there is no chunk of that content.
Result<ChunkEntry*> ChunkRegistry::register_again(Chunk& chunk) {
  ChunkEntry* present = same_content(chunk);
  if (present == nullptr) return present;
  for (Holder& holder : chunk.holders) {
    RETURN_IF_ERROR(add_holder(present->chunk, std::move(holder)));
  }
  reschedule(*present);
  ++present->chunk.registrations;
  adopt_parents(*present, std::move(chunk.parent_ids));
  return present;
}

Result<ChunkEntry*> ChunkRegistry::add(Chunk chunk) {
  complete_holders(chunk);
  ASSIGN_OR_RETURN(ChunkEntry * present, register_again(chunk));
  if (present != nullptr) return present;
  if (tenants_[chunk.tenant].by_id.size() >= kChunksMax) {
    return resource_exhausted("chunks", "there are " + std::to_string(kChunksMax) +
                                            " chunks, the limit; delete some first");
  }
  if (!bytes_.may_take(chunk.tenant, static_cast<int64_t>(bytes_of(chunk)))) {
    const int64_t own = bytes_.of(chunk.tenant);
    const bool alone = own == bytes_.total();
    const int64_t limit = alone ? bytes_.amount() : bytes_.part_of(chunk.tenant);
    return resource_exhausted("chunks", "the texts of all chunks take " + std::to_string(own) +
                                            " bytes; the limit is " + std::to_string(limit) +
                                            (alone ? "" : ", this tenant's part") +
                                            "; delete some first");
  }
  return insert(std::move(chunk));
}

Result<ChunkEntry*> ChunkRegistry::restore(Chunk chunk) {
  complete_holders(chunk);
  ASSIGN_OR_RETURN(ChunkEntry * present, register_again(chunk));
  return present != nullptr ? present : insert(std::move(chunk));
}

ChunkEntry* ChunkRegistry::insert(Chunk&& chunk) {
  Tenant& tenant = tenants_[chunk.tenant];
  const size_t bytes = bytes_of(chunk);
  const std::string id = chunk.id;
  const bool published = std::exchange(chunk.published, false);
  const auto [it, added] = tenant.by_id.try_emplace(id);
  CHECK(added);  // ids are random
  ChunkEntry& entry = it->second;
  entry.chunk = std::move(chunk);
  entry.sequence = next_sequence_++;
  entry.bytes = bytes;
  bytes_.add(entry.chunk.tenant, static_cast<int64_t>(bytes));
  tenant.by_content.emplace(content_key(entry.chunk), &entry);
  tenant.by_sequence.emplace(entry.sequence, &entry);
  ++(entry.chunk.type == ChunkType::kOutput ? outputs_ : inputs_);
  reschedule(entry);
  publish(entry, published);
  return &entry;
}

// Says what became of an id that is not found.
Error ChunkRegistry::why_missing(const Tenant* tenant, std::string_view id) const {
  if (tenant != nullptr && id.size() >= kIdPrefixMin) {
    const auto present = tenant->by_id.lower_bound(id);
    // The registry still has the chunk, but no longer shows it: it has expired.
    if (present != tenant->by_id.end() && present->first.starts_with(id)) {
      return not_found("id", "chunk " + quoted(id) + " has expired");
    }
    const auto gone = tenant->gone.lower_bound(id);
    if (gone != tenant->gone.end() && gone->first.starts_with(id)) {
      const bool expired = gone->second == Removal::kExpired;
      return not_found("id", "chunk " + quoted(id) + (expired ? " has expired" : " was deleted"));
    }
  }
  return not_found("id", "no chunk " + quoted(id));
}

Removal ChunkRegistry::why_gone(std::string_view tenant, std::string_view id) const {
  const auto owner = tenants_.find(tenant);
  if (owner == tenants_.end()) return Removal::kDeleted;
  if (owner->second.by_id.contains(id)) return Removal::kExpired;  // it has expired
  const auto gone = owner->second.gone.find(id);
  return gone == owner->second.gone.end() ? Removal::kDeleted : gone->second;
}

Result<ChunkEntry*> ChunkRegistry::find(std::string_view tenant, std::string_view id) {
  const auto owner = tenants_.find(tenant);
  Tenant* own = owner == tenants_.end() ? nullptr : &owner->second;
  if (own != nullptr) {
    const auto it = own->by_id.find(id);
    if (it != own->by_id.end() && visible(it->second)) return &it->second;
  }
  const auto whole = published_.find(id);
  if (whole != published_.end() && visible(*whole->second)) return whole->second;
  ChunkEntry* found = nullptr;
  bool ambiguous = false;
  const auto consider = [&](ChunkEntry& entry) {
    if (!visible(entry) || found == &entry) return;
    ambiguous = found != nullptr;
    found = &entry;
  };
  if (id.size() >= kIdPrefixMin) {
    if (own != nullptr) {
      auto it = own->by_id.lower_bound(id);
      for (; it != own->by_id.end() && it->first.starts_with(id) && !ambiguous; ++it) {
        consider(it->second);
      }
    }
    auto it = published_.lower_bound(id);
    for (; it != published_.end() && it->first.starts_with(id) && !ambiguous; ++it) {
      if (it->second->chunk.tenant != tenant) consider(*it->second);
    }
  }
  if (ambiguous) return invalid_argument("id", "more than one chunk begins with " + quoted(id));
  if (found == nullptr) return why_missing(own, id);
  return found;
}

Result<ChunkEntry*> ChunkRegistry::find_own(std::string_view tenant, std::string_view id) {
  ASSIGN_OR_RETURN(ChunkEntry * entry, find(tenant, id));
  if (entry->chunk.tenant == tenant) return entry;
  return Error{
      ErrorCode::kConflict, "id",
      "chunk " + quoted(id) + " is published by another tenant: only its owner changes it"};
}

Result<ChunkEntry> ChunkRegistry::remove(std::string_view tenant, std::string_view id) {
  ASSIGN_OR_RETURN(ChunkEntry * entry, find_own(tenant, id));
  return remove(*entry, Removal::kDeleted);
}

ChunkEntry ChunkRegistry::remove(ChunkEntry& entry, Removal why) {
  publish(entry, false);
  relist(entry, 0);
  const auto owner = tenants_.find(entry.chunk.tenant);
  CHECK(owner != tenants_.end());
  Tenant& tenant = owner->second;
  const auto [first, last] = tenant.by_content.equal_range(content_key(entry.chunk));
  const auto content =
      std::find_if(first, last, [&](const auto& one) { return one.second == &entry; });
  CHECK(content != last);
  tenant.by_content.erase(content);
  tenant.by_sequence.erase(entry.sequence);
  bytes_.add(entry.chunk.tenant, -static_cast<int64_t>(entry.bytes));
  --(entry.chunk.type == ChunkType::kOutput ? outputs_ : inputs_);
  if (tenant.gone.insert_or_assign(entry.chunk.id, why).second) {
    tenant.gone_order.push_back(entry.chunk.id);
  }
  if (tenant.gone_order.size() > kGoneMax) {
    tenant.gone.erase(tenant.gone_order.front());
    tenant.gone_order.pop_front();
  }
  const std::string id = entry.chunk.id;
  return std::move(tenant.by_id.extract(id).mapped());
}

Result<ChunkRegistry::Page> ChunkRegistry::list(std::string_view tenant,
                                                std::optional<ChunkType> type, size_t limit,
                                                std::string_view after) {
  static const BySequence kNone;
  const auto owner = tenants_.find(tenant);
  const BySequence& own = owner == tenants_.end() ? kNone : owner->second.by_sequence;
  auto mine = own.begin();
  auto other = published_by_sequence_.cbegin();
  if (!after.empty()) {
    auto found = find(tenant, after);
    if (!found.ok()) return not_found("after", found.error().message);
    mine = own.upper_bound((*found)->sequence);
    other = published_by_sequence_.upper_bound((*found)->sequence);
  }
  Page page;
  while (mine != own.end() || other != published_by_sequence_.cend()) {
    const bool take_own = other == published_by_sequence_.cend() ||
                          (mine != own.end() && mine->first >= other->first);
    ChunkEntry* entry = take_own ? (mine++)->second : (other++)->second;
    if (!take_own && entry->chunk.tenant == tenant) continue;  // is listed among the tenant's own
    if (!visible(*entry) || (type && entry->chunk.type != *type)) continue;
    if (page.entries.size() == limit) {
      page.more = true;
      break;
    }
    page.entries.push_back(entry);
  }
  return page;
}

void ChunkRegistry::relist(ChunkEntry& entry, int64_t time_us) {
  int64_t& listed_us = entry.time_listed_us;
  if (listed_us == time_us) return;
  if (listed_us != 0) times_.erase({listed_us, entry.sequence});
  listed_us = time_us;
  if (time_us != 0) times_.emplace(std::pair(time_us, entry.sequence), &entry);
}

void ChunkRegistry::reschedule(ChunkEntry& entry) {
  relist(entry, next_holder_time_us(entry.chunk));
}

void ChunkRegistry::publish(ChunkEntry& entry, bool published) {
  if (entry.chunk.published == published) return;
  entry.chunk.published = published;
  if (published) {
    published_[entry.chunk.id] = &entry;
    published_by_sequence_[entry.sequence] = &entry;
  } else {
    published_.erase(entry.chunk.id);
    published_by_sequence_.erase(entry.sequence);
  }
}

std::vector<ChunkEntry*> ChunkRegistry::due(size_t count_max) const {
  std::vector<ChunkEntry*> entries;
  for (const auto& [time, entry] : times_) {
    if (time.first > now_us_ || entries.size() == count_max) break;
    entries.push_back(entry);
  }
  return entries;
}

size_t ChunkRegistry::count(bool outputs) const {
  return outputs ? outputs_ : inputs_;
}

std::vector<ChunkEntry*> ChunkRegistry::all() {
  std::vector<ChunkEntry*> entries;
  for_each(std::nullopt, [&](ChunkEntry& entry) { entries.push_back(&entry); });
  std::ranges::sort(entries, {}, &ChunkEntry::sequence);
  return entries;
}

void ChunkRegistry::for_each(std::optional<std::string_view> tenant,
                             const std::function<void(ChunkEntry&)>& visit) {
  for (auto& [name, chunks] : tenants_) {
    if (tenant && name != *tenant) continue;
    for (auto& [id, entry] : chunks.by_id) visit(entry);
  }
}

std::string chunk_content_hash(const Chunk& chunk, std::span<const int32_t> prompt,
                               const AttentionMode& attention) {
  Hasher hasher;
  hasher.field("type", to_string(chunk.type)).field("text", chunk.text);
  if (chunk.type == ChunkType::kOutput) {
    hasher.field("query", chunk.query_text).field("raw", chunk.raw_text);
    hasher.field("policy", to_string(chunk.think_policy));
    hasher.field("finish", chunk.generation.finish_reason).field("prompt", prompt);
    if (!attention.is_dense()) hasher.field("attention", to_string(attention));
    if (const auto& left_out = chunk.generation.left_out) {
      hasher.field("left out",
                   std::to_string(left_out->turns) + " " + std::to_string(left_out->steps));
    }
    // Two conversations may have the same prompt once they lack what they differed in.
    if (!chunk.generation.left_out_from.empty()) {
      hasher.field("left out from", chunk.generation.left_out_from);
    }
    // client_data belongs to one request: equal answers to other requests are other chunks.
    if (!chunk.client_data.empty()) hasher.field("id", chunk.id);
  }
  return hasher.finish().hex();
}

}  // namespace cascade
