// The rule everywhere: a client that gives something up, or shortens it, can only take what is its
// own. So among holders that cannot be told apart, the one that ends first is taken.
#include "cache/holders.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"

namespace cascade {
namespace {

using Holders = std::vector<Holder>;

// The end of the holder, with "never" as the latest of all times.
int64_t end_of(const Holder& holder) {
  const bool ends = holder.expires_us != 0 && !holder.pinned;
  return ends ? holder.expires_us : std::numeric_limits<int64_t>::max();
}

int64_t later(int64_t a_us, int64_t b_us) {
  return a_us == 0 || b_us == 0 ? 0 : std::max(a_us, b_us);
}

bool same_terms(const Holder& a, const Holder& b) {
  return a.expires_us == b.expires_us && a.priority == b.priority &&
         a.priority_until_us == b.priority_until_us && a.pinned == b.pinned;
}

bool is(const Holder& holder, HolderKind kind, std::string_view label = {}) {
  return holder.kind == kind && holder.label == label;
}

int64_t count_of(const Chunk& chunk, HolderKind kind) {
  return std::ranges::count(chunk.holders, kind, &Holder::kind);
}

// The holder of the kind that ends first, nullptr if there is none. With `pinned`, only holders
// that are (or are not) pinned count.
Holder* first_to_end(Chunk& chunk, HolderKind kind, std::optional<bool> pinned = {}) {
  Holder* first = nullptr;
  for (Holder& holder : chunk.holders) {
    if (holder.kind != kind || (pinned && holder.pinned != *pinned)) continue;
    // If two holders end together, the unpinned one comes first: a pin promises more.
    const auto rank = [](const Holder& h) {
      constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
      return std::tuple(end_of(h), h.pinned, h.expires_us == 0 ? kNever : h.expires_us);
    };
    if (first == nullptr || rank(holder) < rank(*first)) first = &holder;
  }
  return first;
}

// Sets the fields of the chunk that sum up all holders.
void sum_up(Chunk& chunk) {
  chunk.pinned = std::ranges::any_of(chunk.holders, &Holder::pinned);
  if (chunk.holders.empty()) return;  // the other fields stay as the last holder left them
  chunk.name.clear();
  chunk.expires_us = 0;
  bool lives = false;  // a holder other than a pin has set the time
  const Holder* highest = nullptr;
  for (const Holder& holder : chunk.holders) {
    if (holder.kind == HolderKind::kPin) continue;
    if (holder.kind == HolderKind::kName) chunk.name = holder.label;
    chunk.expires_us = lives ? later(chunk.expires_us, holder.expires_us) : holder.expires_us;
    lives = true;
    if (highest == nullptr || holder.priority > highest->priority) highest = &holder;
  }
  chunk.priority = highest != nullptr ? highest->priority : default_priority(chunk.type);
  chunk.priority_until_us = highest != nullptr ? highest->priority_until_us : 0;
}

void erase(Chunk& chunk, const Holder* holder) {
  chunk.holders.erase(chunk.holders.begin() + (holder - chunk.holders.data()));
}

// Takes out the holders for which `is_so` is true, and returns them.
template <class IsSo>
Holders take_out(Chunk& chunk, const IsSo& is_so) {
  Holders taken;
  std::erase_if(chunk.holders, [&](const Holder& holder) {
    const bool so = is_so(holder);
    if (so) taken.push_back(holder);
    return so;
  });
  return taken;
}

void note(EndedHolders* ended, const Holders& more) {
  if (ended != nullptr) ended->insert(ended->end(), more.begin(), more.end());
}

// Lowers the holder's count by one, and removes the holder at 0. Returns the one that was taken
// out, as a holder with a count of 1.
Holder split(Chunk& chunk, Holder* holder) {
  Holder one = *holder;
  one.count = 1;
  if (--holder->count == 0) erase(chunk, holder);
  return one;
}

// Joins into one the two retentions whose ends are nearest to each other.
void join_retentions(Holders& holders) {
  Holders retentions;
  std::erase_if(holders, [&](const Holder& holder) {
    const bool taken = holder.kind == HolderKind::kRetention;
    if (taken) retentions.push_back(holder);
    return taken;
  });
  std::ranges::stable_sort(retentions, {}, end_of);
  size_t best = 0;
  for (size_t i = 0; i + 1 < retentions.size(); ++i) {
    const auto gap = [&](size_t at) { return end_of(retentions[at + 1]) - end_of(retentions[at]); };
    if (gap(i) < gap(best)) best = i;
  }
  Holder& shorter = retentions[best];
  Holder& longer = retentions[best + 1];
  longer.count += shorter.count;
  longer.priority = std::max(longer.priority, shorter.priority);
  longer.pinned = longer.pinned || shorter.pinned;
  retentions.erase(retentions.begin() + static_cast<ptrdiff_t>(best));
  holders.insert(holders.begin(), retentions.begin(), retentions.end());
}

void add_retention(Holders& holders, Holder&& holder) {
  for (Holder& present : holders) {
    if (present.kind != HolderKind::kRetention || !same_terms(present, holder)) continue;
    present.count += holder.count;
    return;
  }
  holders.push_back(std::move(holder));
  const auto retentions = std::ranges::count(holders, HolderKind::kRetention, &Holder::kind);
  if (holders.size() > kHoldersMax && retentions > 1) join_retentions(holders);
}

void apply(Holder& holder, const HolderTerms& terms) {
  if (terms.expires_us) holder.expires_us = *terms.expires_us;
  if (terms.priority) {
    holder.priority = *terms.priority;
    holder.priority_until_us = terms.priority_until_us;
  }
  if (terms.pinned) holder.pinned = *terms.pinned;
}

// Removes one pin: the pin itself, or that of the holder that would end first without it.
void unpin_one(Chunk& chunk, EndedHolders* ended) {
  const Holders pins = take_out(chunk, [](const Holder& h) { return is(h, HolderKind::kPin); });
  note(ended, pins);
  if (!pins.empty()) return;
  for (const HolderKind kind :
       {HolderKind::kRetention, HolderKind::kRequest, HolderKind::kName, HolderKind::kSession}) {
    Holder* first = nullptr;
    for (Holder& holder : chunk.holders) {
      if (holder.kind != kind || !holder.pinned) continue;
      const auto end = [](const Holder& h) { return h.expires_us == 0 ? INT64_MAX : h.expires_us; };
      if (first == nullptr || end(holder) < end(*first)) first = &holder;
    }
    if (first == nullptr) continue;
    Holder one = split(chunk, first);
    one.pinned = false;
    if (kind == HolderKind::kRetention) {
      add_retention(chunk.holders, std::move(one));
    } else {
      chunk.holders.push_back(std::move(one));
    }
    return;
  }
}

std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

Error conflict(std::string message) {
  return {ErrorCode::kConflict, "id", std::move(message)};
}

Error pinned_conflict(const Chunk& chunk) {
  return conflict("chunk " + in_quotes(chunk.id) + " is pinned; unpin it first");
}

bool only_pins(const Holders& holders) {
  return std::ranges::all_of(holders, [](const Holder& h) { return h.kind == HolderKind::kPin; });
}

// The holder whose terms change_unnamed() changes; nullptr if there is none, or if there are
// several names.
Holder* unnamed_target(Chunk& chunk) {
  if (Holder* retention = first_to_end(chunk, HolderKind::kRetention)) return retention;
  if (Holder* brought = first_to_end(chunk, HolderKind::kRequest)) return brought;
  if (count_of(chunk, HolderKind::kName) == 1) return first_to_end(chunk, HolderKind::kName);
  return nullptr;
}

}  // namespace

Status add_holder(Chunk& chunk, Holder holder) {
  Holders& holders = chunk.holders;
  if (holder.kind == HolderKind::kRetention) {
    add_retention(holders, std::move(holder));
    sum_up(chunk);
    return {};
  }
  for (auto present = holders.begin(); present != holders.end(); ++present) {
    if (!is(*present, holder.kind, holder.label)) continue;
    holder.expires_us = later(holder.expires_us, present->expires_us);
    holder.pinned = holder.pinned || present->pinned;
    if (holder.kind == HolderKind::kRequest) {
      // A request sets no priority: its holder keeps the one that it has.
      present->expires_us = holder.expires_us;
      present->pinned = holder.pinned;
      sum_up(chunk);
      return {};
    }
    // The latest name comes last.
    holders.erase(present);
    holders.push_back(std::move(holder));
    sum_up(chunk);
    return {};
  }
  const bool labelled = holder.kind == HolderKind::kName || holder.kind == HolderKind::kSession;
  if (labelled && holders.size() >= kHoldersMax) {
    return resource_exhausted(std::string(to_string(holder.kind)),
                              "the chunk " + in_quotes(chunk.id) + " has " +
                                  std::to_string(holders.size()) + " holders; the limit is " +
                                  std::to_string(kHoldersMax) + ": delete names or sessions of it");
  }
  holders.push_back(std::move(holder));
  sum_up(chunk);
  return {};
}

void complete_holders(Chunk& chunk) {
  if (!chunk.holders.empty()) return sum_up(chunk);
  const Holder holder = {.kind = chunk.name.empty() ? HolderKind::kRetention : HolderKind::kName,
                         .label = chunk.name,
                         .expires_us = chunk.expires_us,
                         .priority = chunk.priority,
                         .priority_until_us = chunk.priority_until_us,
                         .pinned = false};
  chunk.holders.push_back(holder);
  if (chunk.pinned)
    chunk.holders.push_back({.kind = HolderKind::kPin, .label = {}, .pinned = true});
  sum_up(chunk);
}

Status change_named(Chunk& chunk, const std::string& name, const HolderTerms& terms,
                    int64_t expires_us) {
  const auto found = std::ranges::find_if(
      chunk.holders, [&](const Holder& h) { return is(h, HolderKind::kName, name); });
  if (found != chunk.holders.end()) {
    Holder changed = *found;
    apply(changed, terms);
    chunk.holders.erase(found);
    chunk.holders.push_back(std::move(changed));
    sum_up(chunk);
    return {};
  }
  Holder added = {.kind = HolderKind::kName,
                  .label = name,
                  .expires_us = expires_us,
                  .priority = default_priority(chunk.type)};
  apply(added, terms);
  return add_holder(chunk, std::move(added));
}

void change_unnamed(Chunk& chunk, const HolderTerms& terms, EndedHolders* ended) {
  HolderTerms own = terms;
  own.pinned.reset();
  if (own.expires_us || own.priority) {
    if (Holder* target = unnamed_target(chunk)) {
      Holder changed = split(chunk, target);
      apply(changed, own);
      if (changed.kind == HolderKind::kRetention) {
        add_retention(chunk.holders, std::move(changed));
      } else {
        chunk.holders.push_back(std::move(changed));
      }
    } else if (own.expires_us) {
      Holder added = {.label = {}, .priority = default_priority(chunk.type)};
      apply(added, own);
      add_retention(chunk.holders, std::move(added));
    } else {
      for (Holder& holder : chunk.holders) {
        if (holder.kind != HolderKind::kPin) apply(holder, own);
      }
    }
  }
  const bool has_pin = count_of(chunk, HolderKind::kPin) > 0;
  if (terms.pinned == true && !has_pin) {
    chunk.holders.push_back({.kind = HolderKind::kPin,
                             .label = {},
                             .priority = default_priority(chunk.type),
                             .pinned = true});
  } else if (terms.pinned == false) {
    unpin_one(chunk, ended);
  }
  sum_up(chunk);
}

void clear_names(Chunk& chunk, EndedHolders* ended) {
  Holders names = take_out(chunk, [](const Holder& h) { return h.kind == HolderKind::kName; });
  note(ended, names);
  for (Holder& name : names) {
    name.kind = HolderKind::kRetention;
    name.label.clear();
    add_retention(chunk.holders, std::move(name));
  }
  sum_up(chunk);
}

Status give_up_unnamed(Chunk& chunk, EndedHolders* ended) {
  HolderKind kind = HolderKind::kRetention;
  if (count_of(chunk, kind) == 0) kind = HolderKind::kRequest;
  if (count_of(chunk, kind) == 0) kind = HolderKind::kName;
  const int64_t count = count_of(chunk, kind);
  const bool several_names = kind == HolderKind::kName && count > 1;
  if (several_names || (count == 0 && count_of(chunk, HolderKind::kSession) > 0)) {
    const std::string advice =
        several_names ? "say with \"name\" which of them, or give up \"all\""
                      : "a session's turn ends with \"session delete --outputs\", or with \"all\"";
    return conflict("chunk " + in_quotes(chunk.id) + " is held by " + describe_holders(chunk) +
                    ": " + advice);
  }
  Holder* first = first_to_end(chunk, kind, /*pinned=*/false);
  if (first == nullptr) return pinned_conflict(chunk);
  const Holders before = chunk.holders;
  Holders given_up = {split(chunk, first)};
  // Nobody asked to keep what requests brought along: these holders do not outlive the last
  // retention.
  if (count_of(chunk, HolderKind::kRetention) == 0) {
    const Holders brought =
        take_out(chunk, [](const Holder& h) { return h.kind == HolderKind::kRequest; });
    given_up.insert(given_up.end(), brought.begin(), brought.end());
  }
  if (chunk.pinned && only_pins(chunk.holders)) {
    chunk.holders = before;
    return pinned_conflict(chunk);
  }
  note(ended, given_up);
  sum_up(chunk);
  return {};
}

Status give_up_name(Chunk& chunk, std::string_view name, EndedHolders* ended) {
  if (only_pins_without(chunk, HolderKind::kName, name)) return pinned_conflict(chunk);
  if (give_up(chunk, HolderKind::kName, name, ended)) return {};
  return not_found("name", "chunk " + in_quotes(chunk.id) + " is not held by the name " +
                               in_quotes(name) + ", but by " + describe_holders(chunk));
}

Status give_up_all(Chunk& chunk, EndedHolders* ended) {
  if (chunk.pinned) return pinned_conflict(chunk);
  note(ended, std::exchange(chunk.holders, {}));
  return {};
}

bool give_up(Chunk& chunk, HolderKind kind, std::string_view label, EndedHolders* ended) {
  const Holders taken = take_out(chunk, [&](const Holder& h) { return is(h, kind, label); });
  note(ended, taken);
  if (!taken.empty()) sum_up(chunk);
  return !taken.empty();
}

bool only_pins_without(const Chunk& chunk, HolderKind kind, std::string_view label) {
  const auto its_own = [&](const Holder& holder) { return is(holder, kind, label); };
  return chunk.pinned && std::ranges::any_of(chunk.holders, its_own) &&
         std::ranges::all_of(chunk.holders, [&](const Holder& holder) {
           return its_own(holder) || holder.kind == HolderKind::kPin;
         });
}

bool keep_without_session(Chunk& chunk, std::string_view session) {
  const auto found = std::ranges::find_if(
      chunk.holders, [&](const Holder& h) { return is(h, HolderKind::kSession, session); });
  if (found == chunk.holders.end()) return false;
  Holder kept = std::move(*found);
  chunk.holders.erase(found);
  kept.kind = HolderKind::kRetention;
  kept.label.clear();
  add_retention(chunk.holders, std::move(kept));
  sum_up(chunk);
  return true;
}

bool pass_holders_time(Chunk& chunk, int64_t now_us, EndedHolders* ended) {
  bool changed = false;
  if (!chunk.pinned) {
    const Holders over = take_out(chunk, [&](const Holder& h) { return end_of(h) <= now_us; });
    note(ended, over);
    changed = !over.empty();
  }
  for (Holder& holder : chunk.holders) {
    if (holder.priority_until_us == 0 || holder.priority_until_us > now_us) continue;
    holder.priority = default_priority(chunk.type);
    holder.priority_until_us = 0;
    changed = true;
  }
  if (changed) sum_up(chunk);
  return changed;
}

int64_t next_holder_time_us(const Chunk& chunk) {
  int64_t next = std::numeric_limits<int64_t>::max();
  for (const Holder& holder : chunk.holders) {
    if (!chunk.pinned) next = std::min(next, end_of(holder));
    if (holder.priority_until_us != 0) next = std::min(next, holder.priority_until_us);
  }
  return next == std::numeric_limits<int64_t>::max() ? 0 : next;
}

std::string describe_holders(const Chunk& chunk, size_t count_max) {
  std::string text;
  for (size_t i = 0; i < chunk.holders.size(); ++i) {
    if (!text.empty()) text += ", ";
    const size_t left = chunk.holders.size() - i;
    if (i == count_max && left > 1) return text + std::to_string(left) + " others";
    const Holder& holder = chunk.holders[i];
    switch (holder.kind) {
      case HolderKind::kRetention:
        text += holder.count == 1 ? "a retention" : std::to_string(holder.count) + " retentions";
        break;
      case HolderKind::kRequest: text += "a request that brought it along"; break;
      case HolderKind::kName: text += "the name " + in_quotes(holder.label); break;
      case HolderKind::kSession: text += "a turn of the session " + in_quotes(holder.label); break;
      case HolderKind::kPin: text += "a pin"; break;
    }
  }
  return text;
}

}  // namespace cascade
