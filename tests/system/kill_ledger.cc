// Compares chunks field by field; times and counts may vary within limits.
#include "tests/system/kill_ledger.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cache/holders.h"

namespace cascade::testing {
namespace {

constexpr int64_t kLastsUs = 2'000'000;
constexpr size_t kHistoryMax = 60;

// Whether `seen_us` can be a time that was given as a span, counted from some moment of the
// operation.
bool is_in(int64_t seen_us, int64_t span_ms, const Pending& pending) {
  return seen_us >= pending.begin_us + span_ms * 1000 && seen_us <= pending.end_us + span_ms * 1000;
}

// The times that an operation sets.
struct Times {
  int64_t expires_us = 0;
  int64_t priority_until_us = 0;
};

// The times among `seen`'s holders that a span of the operation can have set: 0 for a span of 0, -1
// if there is none.
std::vector<int64_t> times_of(const Chunk& seen, int64_t span_ms, const Pending& pending,
                              int64_t Holder::*member) {
  if (span_ms == 0) return {0};
  std::vector<int64_t> times;
  for (const Holder& holder : seen.holders) {
    if (is_in(holder.*member, span_ms, pending)) times.push_back(holder.*member);
  }
  if (times.empty()) times.push_back(-1);
  return times;
}

// When exactly the operation was done is not known, so its times are taken from `seen`. Several
// times can be right: another holder may happen to end in the same milliseconds.
std::vector<Times> possible_times(const Pending& pending, const Chunk& seen) {
  const wire::ChunkUpdate& settings = pending.settings;
  std::vector<Times> all;
  for (const int64_t expires_us :
       times_of(seen, settings.ttl_ms.value_or(0), pending, &Holder::expires_us)) {
    for (const int64_t until_us :
         times_of(seen, settings.priority_ms.value_or(0), pending, &Holder::priority_until_us)) {
      all.push_back({.expires_us = expires_us, .priority_until_us = until_us});
    }
  }
  return all;
}

// Moments at which the operation can have been done and that lead to different results for `chunk`:
// its begin, its end, and between them the time of each holder.
std::vector<int64_t> possible_moments(const Pending& pending, const Chunk& chunk) {
  std::vector<int64_t> moments = {pending.begin_us, pending.end_us};
  for (const Holder& holder : chunk.holders) {
    for (const int64_t time_us : {holder.expires_us, holder.priority_until_us}) {
      if (time_us > pending.begin_us && time_us < pending.end_us) moments.push_back(time_us);
    }
  }
  return moments;
}

// Applies the settings to `chunk`. The rules of holders are the daemon's own
// (tests/cache/holders_test.cc); the kill tests check whether the result was kept.
void apply(const Pending& pending, const Times& times, Chunk& chunk) {
  const wire::ChunkUpdate& settings = pending.settings;
  HolderTerms terms;
  if (settings.ttl_ms) terms.expires_us = times.expires_us;
  terms.priority = settings.priority;
  if (settings.priority) terms.priority_until_us = times.priority_until_us;
  terms.pinned = settings.pinned;
  const std::string name = settings.name.value_or("");
  chunk.published = settings.published.value_or(chunk.published);
  if (pending.puts || pending.query) {
    Holder holder;
    holder.kind = name.empty() ? HolderKind::kRetention : HolderKind::kName;
    holder.label = name;
    holder.expires_us = terms.expires_us.value_or(0);
    holder.priority = terms.priority.value_or(default_priority(chunk.type));
    holder.priority_until_us = terms.priority_until_us;
    holder.pinned = terms.pinned.value_or(false);
    (void)add_holder(chunk, holder);
  } else if (!name.empty()) {
    (void)change_named(chunk, name, terms, /*expires_us=*/0);
  } else {
    if (settings.name) clear_names(chunk);
    change_unnamed(chunk, terms);
  }
}

template <class AnyChunk>
auto brought_along(AnyChunk& chunk) -> decltype(chunk.holders.data()) {
  const auto found = std::ranges::find(chunk.holders, HolderKind::kRequest, &Holder::kind);
  return found == chunk.holders.end() ? nullptr : &*found;
}

// Applies to `want` the changes of holders that no acknowledgement reports: a request may have
// brought the text along (once more if `again`), and holders whose time is over are removed.
void pass_unsaid(const Chunk& seen, bool again, Chunk& want) {
  if (const Holder* holder = brought_along(seen)) {
    Holder* known = brought_along(want);
    if (known == nullptr) (void)add_holder(want, *holder);
    if (known != nullptr && again && holder->expires_us == 0) known->expires_us = 0;
  }
  const auto has = [](const Chunk& chunk, const Holder& holder) {
    return std::ranges::any_of(chunk.holders, [&](const Holder& other) {
      return other.kind == holder.kind && other.label == holder.label &&
             other.expires_us == holder.expires_us;
    });
  };
  const bool some_are_gone =
      std::ranges::any_of(want.holders, [&](const Holder& holder) { return !has(seen, holder); });
  if (some_are_gone) pass_holders_time(want, now_us());
  complete_holders(want);
}

std::string in_full(const Chunk& chunk) {
  std::string text;
  for (const Holder& holder : chunk.holders) {
    text += " [" + std::string(to_string(holder.kind)) + " " + holder.label + " x" +
            std::to_string(holder.count) + " until " + std::to_string(holder.expires_us) +
            " priority " + std::to_string(holder.priority) + " until " +
            std::to_string(holder.priority_until_us) + (holder.pinned ? " pinned]" : "]");
  }
  return text;
}

// The order in which holders were added has no meaning.
void sort_holders(Chunk& chunk) {
  std::ranges::sort(chunk.holders, {}, [](const Holder& holder) {
    return std::tuple(holder.kind, holder.label, holder.expires_us, holder.priority,
                      holder.priority_until_us, holder.pinned);
  });
}

// Copies the fields that no acknowledgement mentions.
void copy_state(const Chunk& from, Chunk& to) {
  to.kv_state = from.kv_state;
  to.kv_tokens = from.kv_tokens;
  to.kv_bytes = from.kv_bytes;
  to.kv_disk_pages = from.kv_disk_pages;
  to.kv_disk_bytes = from.kv_disk_bytes;
  to.kv_key = from.kv_key;
  to.kv_begin = from.kv_begin;
  to.last_used_us = std::max(from.last_used_us, to.last_used_us);
  to.hits = from.hits;
  to.registrations = from.registrations;
}

std::string difference(Chunk want, Chunk seen) {
  sort_holders(want);
  sort_holders(seen);
  if (want == seen) return {};
  std::string what;
  const auto note = [&](const char* field, const auto& wanted, const auto& found) {
    if (wanted == found) return;
    what += std::string(" ") + field;
    if constexpr (requires { std::to_string(wanted); }) {
      what += " " + std::to_string(wanted) + " != " + std::to_string(found);
    }
  };
  note("type", want.type, seen.type);
  note("tenant", want.tenant, seen.tenant);
  note("content_hash", want.content_hash, seen.content_hash);
  note("text", want.text, seen.text);
  note("token_ids", want.token_ids, seen.token_ids);
  note("query_text", want.query_text, seen.query_text);
  note("raw_text", want.raw_text, seen.raw_text);
  note("client_data", want.client_data, seen.client_data);
  note("think_spans", want.think_spans, seen.think_spans);
  note("think_policy", want.think_policy, seen.think_policy);
  note("generation", want.generation, seen.generation);
  note("created_us", want.created_us, seen.created_us);
  note("last_used_us", want.last_used_us, seen.last_used_us);
  note("pinned", want.pinned, seen.pinned);
  note("expires_us", want.expires_us, seen.expires_us);
  note("priority", want.priority, seen.priority);
  note("priority_until_us", want.priority_until_us, seen.priority_until_us);
  note("name", want.name, seen.name);
  if (want.holders != seen.holders) {
    what += " holders" + in_full(want) + " !=" + in_full(seen);
  }
  note("parent_ids", want.parent_ids, seen.parent_ids);
  note("published", want.published, seen.published);
  return what.empty() ? " something" : what;
}

std::string count_error(const char* what, int64_t seen, int64_t least, int64_t most) {
  if (seen >= least && seen <= most) return {};
  return std::string(" ") + what + " " + std::to_string(seen) + " not in [" +
         std::to_string(least) + ", " + std::to_string(most) + "]";
}

std::string to_text(const wire::ChunkUpdate& settings) {
  std::string text;
  if (settings.name) text += " name=" + *settings.name;
  if (settings.pinned) text += *settings.pinned ? " pin" : " unpin";
  if (settings.ttl_ms) text += " ttl_ms=" + std::to_string(*settings.ttl_ms);
  if (settings.priority) text += " priority=" + std::to_string(*settings.priority);
  if (settings.published) text += *settings.published ? " publish" : " unpublish";
  if (settings.touch) text += " touch";
  return text;
}

std::string to_text(const Pending& pending) {
  std::string text = pending.deletes ? "delete" : pending.puts ? "put" : "change";
  if (pending.query) text = "generate, retained, of '" + *pending.query + "'";
  text += " " + pending.id + to_text(pending.settings);
  for (const auto& [type, content] : pending.texts) text += " text '" + content.substr(0, 30) + "'";
  return text;
}

std::string to_text(const Chunk& chunk) {
  return chunk.id + (chunk.pinned ? " pinned" : "") + " expires " +
         std::to_string(chunk.expires_us);
}

bool is_over(const Chunk& chunk, int64_t time_us) {
  return !chunk.pinned && chunk.expires_us != 0 && chunk.expires_us <= time_us;
}

}  // namespace

int64_t now_us() {
  return system_clock().wall_us();
}

void Ledger::note(const std::string& what) {
  history_.push_back(std::to_string(now_us()) + " " + what);
  if (history_.size() > kHistoryMax) history_.pop_front();
}

std::string Ledger::history() const {
  std::string all;
  for (const std::string& line : history_) all += "\n  " + line;
  return all;
}

void Ledger::begin(Pending pending) {
  pending.begin_us = now_us();
  note(to_text(pending));
  for (const auto& [type, text] : pending.texts) {
    const Entry* known = find(type, text);
    if (known == nullptr) continue;
    Entry& entry = entries_.at(known->chunk.id);
    ++entry.registrations_max;
    if (!pending.puts) ++entry.hits_max;
    if (!pending.puts) entry.may_be_brought = true;
    if (pending.puts) pending.id = entry.chunk.id;
  }
  if (pending.settings.touch) change_max(pending.id, 1);
  pending_ = std::move(pending);
}

void Ledger::refuse(const Error& error) {
  note("refused: " + error.to_string());
  pending_.reset();
}

void Ledger::leave_open() {
  note("ends");
  if (pending_) pending_->end_us = now_us();
}

void Ledger::promise(wire::Final answer) {
  leave_open();
  note("promised " + answer.output_chunk_id);
  const Entry* known = find(answer.output_chunk_id);
  pending_->may_expire = known != nullptr && known->chunk.expires_us != 0;
  pending_->promised = std::move(answer);
}

std::string Ledger::close() {
  const auto pending = std::exchange(pending_, std::nullopt);
  if (!pending || !pending->promised) return {};
  const wire::Final& promised = *pending->promised;
  const Entry* entry = find(promised.output_chunk_id);
  const int64_t ttl_ms = pending->settings.ttl_ms.value_or(0);
  const bool may_be_over = ttl_ms > 0 && pending->begin_us + ttl_ms * 1000 <= now_us();
  if (entry == nullptr) {
    return may_be_over || pending->may_expire
               ? ""
               : promised.output_chunk_id + " is lost: it was answered";
  }
  const bool same =
      entry->chunk.text == promised.text && entry->chunk.token_ids == promised.token_ids;
  return same ? "" : promised.output_chunk_id + " is not what was answered";
}

std::string Ledger::check_shown(const Chunk& seen) const {
  return compare(entries_.at(seen.id), nullptr, seen);
}

std::string Ledger::acknowledge(const Chunk& seen) {
  leave_open();
  std::string wrong;
  const auto known = entries_.find(seen.id);
  if (known != entries_.end()) {
    Entry& entry = known->second;
    if (seen.type == ChunkType::kOutput && pending_->query) ++entry.registrations_max;
    wrong = compare(entry, &*pending_, seen);
    keep(seen);
  } else {
    wrong = adopt(seen);
  }
  pending_.reset();
  return wrong;
}

std::string Ledger::learn(const Chunk& seen) {
  const auto known = entries_.find(seen.id);
  const std::string wrong =
      known == entries_.end() ? std::string() : compare(known->second, nullptr, seen);
  keep(seen);
  return wrong.empty() && seen.token_ids.empty() ? seen.id + " has no token ids" : wrong;
}

void Ledger::acknowledge_removal() {
  entries_.erase(pending_->id);
  pending_.reset();
}

void Ledger::keep(const Chunk& seen) {
  const auto known = entries_.find(seen.id);
  if (known == entries_.end() || known->second.chunk.expires_us != seen.expires_us ||
      known->second.chunk.pinned != seen.pinned) {
    note("there: " + to_text(seen));
  }
  entries_[seen.id] = {seen, seen.hits, seen.registrations};
}

void Ledger::change_max(const std::string& id, int64_t hits) {
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.hits_max += hits;
}

void Ledger::was_used(const std::string& id) {
  const auto found = entries_.find(id);
  if (found != entries_.end()) ++found->second.chunk.hits;
}

const Ledger::Entry* Ledger::find(const std::string& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

const Ledger::Entry* Ledger::find(ChunkType type, const std::string& text) const {
  for (const auto& [id, entry] : entries_) {
    if (entry.chunk.type == type && entry.chunk.text == text && lasts(entry.chunk)) return &entry;
  }
  return nullptr;
}

bool Ledger::lasts(const Chunk& chunk) {
  return !is_over(chunk, now_us() + kLastsUs) && !(chunk.pinned && chunk.expires_us != 0);
}

bool Ledger::is_usable(ChunkType type, const std::string& text) const {
  return std::ranges::all_of(entries_, [&](const auto& item) {
    const Chunk& chunk = item.second.chunk;
    return chunk.type != type || chunk.text != text || lasts(chunk);
  });
}

bool Ledger::may_change(const Entry& entry) const {
  if (!pending_ || pending_->deletes) return false;
  if (pending_->id == entry.chunk.id) return true;
  return entry.chunk.type == ChunkType::kOutput && pending_->query == entry.chunk.query_text;
}

// If an output that exists is made once more, it takes its new parents, unless these are fewer. A
// parent that is not known yet is checked when it is adopted.
bool Ledger::may_have_parents(const Chunk& before, const Pending& change, const Chunk& seen) const {
  const auto is_of = [&](const std::string& id, const wire::ChunkRef& asked) {
    if (!asked.id.empty()) return id == asked.id;
    const Entry* entry = find(id);
    return entry == nullptr || (entry->chunk.type == asked.type && entry->chunk.text == asked.text);
  };
  return change.query && seen.parent_ids.size() >= before.parent_ids.size() &&
         std::ranges::equal(seen.parent_ids, change.parents, is_of);
}

std::string Ledger::compare(const Entry& entry, const Pending* change, const Chunk& seen) const {
  if (change == nullptr) return compare_with(entry, nullptr, seen, entry.chunk);
  std::string wrong;
  for (const int64_t moment_us : possible_moments(*change, entry.chunk)) {
    for (const Times& times : possible_times(*change, seen)) {
      Chunk want = entry.chunk;
      pass_holders_time(want, moment_us);
      apply(*change, times, want);
      wrong = compare_with(entry, change, seen, std::move(want));
      if (wrong.empty()) return wrong;
    }
  }
  return wrong;
}

std::string Ledger::compare_with(const Entry& entry, const Pending* change, const Chunk& seen,
                                 Chunk want) const {
  if (change != nullptr && may_have_parents(want, *change, seen)) want.parent_ids = seen.parent_ids;
  std::string wrong = count_error("hits", seen.hits, entry.chunk.hits, entry.hits_max);
  const int64_t more = change != nullptr && change->query ? 1 : 0;
  wrong += count_error("registrations", seen.registrations, entry.chunk.registrations,
                       entry.registrations_max + more);
  copy_state(seen, want);
  pass_unsaid(seen, entry.may_be_brought, want);
  wrong += difference(want, seen);
  return wrong.empty() ? wrong : seen.id + ":" + wrong;
}

std::string Ledger::check_missing(const std::string& id) {
  const Chunk chunk = entries_.at(id).chunk;
  const bool deleted = pending_ && pending_->deletes && pending_->id == id;
  bool over = is_over(chunk, now_us());
  if (may_change(entries_.at(id))) {
    // The pending operation may have given the chunk a time that is over, or removed its pin.
    const int64_t ttl_ms = pending_->settings.ttl_ms.value_or(0);
    Times earliest;
    if (ttl_ms != 0) earliest.expires_us = pending_->begin_us + ttl_ms * 1000;
    for (const int64_t changed_us : possible_moments(*pending_, chunk)) {
      Chunk changed = chunk;
      pass_holders_time(changed, changed_us);
      apply(*pending_, earliest, changed);
      pass_holders_time(changed, now_us());
      over = over || changed.holders.empty();
    }
  }
  if (!deleted && !over) return id + " is lost: " + chunk.text.substr(0, 60);
  entries_.erase(id);
  return {};
}

std::string Ledger::check_there(const Chunk& seen, int64_t asked_us) {
  const Entry& entry = entries_.at(seen.id);
  if (is_over(seen, asked_us)) return seen.id + " is there, and its time is over";
  std::string wrong = compare(entry, nullptr, seen);
  if (!wrong.empty() && may_change(entry)) wrong = compare(entry, &*pending_, seen);
  if (wrong.empty()) keep(seen);
  return wrong;
}

bool Ledger::may_make(const Chunk& seen) const {
  if (!pending_) return false;
  if (seen.type == ChunkType::kOutput) return pending_->query == seen.query_text;
  return std::ranges::find(pending_->texts, std::pair(seen.type, seen.text)) !=
         pending_->texts.end();
}

std::string Ledger::adopt(const Chunk& seen) {
  if (!may_make(seen)) return seen.id + " was not asked for";
  const bool output = seen.type == ChunkType::kOutput;
  std::string wrong;
  for (const Times& times : possible_times(*pending_, seen)) {
    Chunk want = seen;
    want.published = false;
    want.holders.clear();
    if (output || pending_->puts) apply(*pending_, times, want);
    pass_unsaid(seen, /*again=*/false, want);
    wrong = difference(want, seen);
    if (wrong.empty()) break;
  }
  if (seen.token_ids.empty()) wrong += " no token ids";
  if (!wrong.empty()) return seen.id + " was not made wholly:" + wrong;
  keep(seen);
  return {};
}

}  // namespace cascade::testing
