// Two maps: from pages to their parents and back.
#include "cache/disk_index.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/check.h"
#include "cache/chain_key.h"
#include "cache/kv_view.h"

namespace cascade {

void DiskIndex::add(const Digest& key, const Digest& parent, int32_t tokens) {
  CHECK(tokens >= 1 && tokens <= kPageTokens);
  if (!pages_.try_emplace(key, Page{parent, tokens}).second) return;
  Children& children = children_[parent];
  children.keys.push_back(key);
  if (tokens < kPageTokens) ++children.short_pages[tokens];
}

void DiskIndex::remove(const Digest& key) {
  const auto found = pages_.find(key);
  if (found == pages_.end()) return;
  const Page page = found->second;
  pages_.erase(found);
  const auto siblings = children_.find(page.parent);
  std::erase(siblings->second.keys, key);
  const auto short_pages = siblings->second.short_pages.find(page.tokens);
  if (short_pages != siblings->second.short_pages.end() && --short_pages->second == 0) {
    siblings->second.short_pages.erase(short_pages);
  }
  if (siblings->second.keys.empty()) children_.erase(siblings);
}

bool DiskIndex::is_short(const Digest& key) const {
  return pages_.at(key).tokens < kPageTokens;
}

DiskIndex::Match DiskIndex::match(const Digest& from, const Digest* tenant,
                                  std::span<const int32_t> tokens) const {
  Match match;
  Digest parent = from;
  while (children_.contains(parent)) {
    const auto rest = tokens.subspan(static_cast<size_t>(match.tokens));
    std::optional<Digest> found;
    if (rest.size() >= kPageTokens) {
      const Digest key = chain_key(parent, tenant, rest.first(kPageTokens));
      if (pages_.contains(key)) found = key;
    }
    if (!found) {
      // The last page of another chain may match: the longest one whose tokens come next here.
      if (const auto end = short_page(parent, tenant, rest)) {
        match.keys.push_back(end->keys.front());
        match.tokens += end->tokens;
      }
      return match;
    }
    match.keys.push_back(*found);
    match.tokens += kPageTokens;
    parent = *found;
    tenant = nullptr;
  }
  return match;
}

std::optional<DiskIndex::Match> DiskIndex::short_page(const Digest& parent, const Digest* tenant,
                                                      std::span<const int32_t> tokens) const {
  const auto siblings = children_.find(parent);
  if (siblings == children_.end()) return std::nullopt;
  const auto& lengths = siblings->second.short_pages;
  for (auto it = lengths.rbegin(); it != lengths.rend(); ++it) {
    const auto count = static_cast<size_t>(it->first);
    if (count > tokens.size()) continue;
    const Digest key = chain_key(parent, tenant, tokens.first(count));
    if (pages_.contains(key)) return Match{{key}, it->first};
  }
  return std::nullopt;
}

std::vector<Digest> DiskIndex::keys_of(const Digest& from, const Digest* tenant,
                                       std::span<const int32_t> tokens) const {
  std::vector<Digest> keys;
  Digest parent = from;
  for (; tokens.size() >= kPageTokens; tokens = tokens.subspan(kPageTokens)) {
    const Digest key = chain_key(parent, tenant, tokens.first(kPageTokens));
    const auto end = pages_.contains(key) ? std::nullopt : short_page(parent, tenant, tokens);
    keys.push_back(end ? end->keys.front() : key);
    parent = key;
    tenant = nullptr;
  }
  if (const auto end = short_page(parent, tenant, tokens)) keys.push_back(end->keys.front());
  return keys;
}

std::vector<Digest> DiskIndex::subtree(const Digest& key,
                                       const std::function<bool(const Digest&)>& kept) const {
  std::vector<Digest> pages = {key};  // parents before their children
  // The limit ends the loop if damaged names form a circle.
  for (size_t i = 0; i < pages.size() && pages.size() <= pages_.size(); ++i) {
    const auto children = children_.find(pages[i]);
    if (children == children_.end()) continue;
    pages.insert(pages.end(), children->second.keys.begin(), children->second.keys.end());
  }
  std::set<Digest> stay;
  std::vector<Digest> gone;
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
    if (!contains(*page)) continue;  // `key` itself may not be on disk
    if (stay.contains(*page) || kept(*page)) {
      stay.insert(pages_.at(*page).parent);
    } else {
      gone.push_back(*page);
    }
  }
  return gone;
}

std::vector<DiskIndex::Step> DiskIndex::path(const Digest& key) const {
  std::vector<Step> path;
  auto page = pages_.find(key);
  // The limit ends the loop if damaged names form a circle.
  for (; page != pages_.end() && path.size() < pages_.size();
       page = pages_.find(page->second.parent)) {
    path.push_back({page->first, page->second.tokens});
  }
  return path;
}

bool DiskIndex::has_children(const Digest& key) const {
  const auto found = children_.find(key);
  return found != children_.end() && !found->second.keys.empty();
}

}  // namespace cascade
