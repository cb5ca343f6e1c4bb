// A list in the order of use, and a way to find what is in it.
#include "model/grammar/grammar_cache.h"

#include <malloc.h>

#include <algorithm>

#include "model/grammar/compile.h"

namespace cascade {
namespace {

// An estimate of the bytes that an entry takes beside its text: the nodes of the list and of the
// map.
constexpr size_t kEntryBytes = 300;

// The share of the memory for what is learned about one grammar: a few large grammars use up all of
// the memory, and many small ones have room. With less than the minimum, a mask of tokens would be
// computed over and over.
constexpr size_t kLearnedShare = 16, kLearnedMin = size_t{1} << 20;

}  // namespace

Result<std::shared_ptr<SharedGrammar>> GrammarCache::get(GrammarKind kind,
                                                         const std::string& schema,
                                                         const GrammarVocabulary& vocabulary,
                                                         AnswerForm form) {
  const std::string key =
      std::to_string(static_cast<int>(form)) + " " + std::string(to_string(kind)) + " " + schema;
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    entries_.front().used = true;
    return entries_.front().grammar;
  }
  ASSIGN_OR_RETURN(Grammar grammar, compile_grammar(kind, schema, "grammar.schema", form));
  const size_t learned_max =
      std::clamp(memory_max_ / kLearnedShare, kLearnedMin, GrammarAutomaton::kMemoryMax);
  auto shared = std::make_shared<SharedGrammar>(std::move(grammar), vocabulary, learned_max);
  entries_.push_front({key, shared, 0, true});
  by_key_.emplace(entries_.front().key, entries_.begin());
  shrink();
  entries_.front().used = true;
  return shared;
}

void GrammarCache::count(Entry& entry) {
  const size_t now = kEntryBytes + entry.key.capacity() + entry.grammar->memory_bytes();
  bytes_ = bytes_ - entry.bytes + now;
  entry.bytes = now;
  entry.used = false;
}

void GrammarCache::shrink() {
  // The entries that were used are at the front of the list.
  for (auto entry = entries_.begin(); entry != entries_.end() && entry->used; ++entry) {
    count(*entry);
  }
  const size_t before = bytes_;
  for (auto entry = entries_.end(); entry != entries_.begin() && bytes_ > memory_max_;) {
    --entry;
    if (entry->in_use()) continue;
    bytes_ -= entry->bytes;
    by_key_.erase(entry->key);
    entry = entries_.erase(entry);
  }
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && bytes_ > memory_max_; ++entry) {
    entry->grammar->forget();
    count(*entry);
  }
  give_back(before - bytes_);
}

// A grammar consists of many small pieces of memory, mixed with the pieces of others, and malloc
// keeps what is freed. Looking for whole free pages takes milliseconds, so we do it only when much
// was freed.
void GrammarCache::give_back(size_t freed) {
  freed_ += freed;
  if (freed_ == 0 || freed_ < memory_max_ / 4) return;
  freed_ = 0;
  malloc_trim(0);
}

}  // namespace cascade
