// The grammars that generations use, each compiled once.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/grammar_kind.h"
#include "model/grammar/output_constraint.h"

namespace cascade {

// Keeps the grammars that were used last, within a bound of bytes. One thread at a time.
class GrammarCache {
 public:
  // A grammar takes some 10 to 200 KB. With what is learned about it in use, it takes some MB. This
  // bound has room for the grammars of all generations that run at once by default.
  static constexpr size_t kMemoryMax = size_t{64} << 20;

  explicit GrammarCache(size_t memory_max = kMemoryMax) : memory_max_(memory_max) {}
  GrammarCache(const GrammarCache&) = delete;
  GrammarCache& operator=(const GrammarCache&) = delete;

  // `vocabulary` is the same each time and must outlive the result. `form`: in which form the
  // generation that the grammar is for is written.
  // Errors: as compile_grammar(), field "grammar.schema".
  Result<std::shared_ptr<SharedGrammar>> get(GrammarKind kind, const std::string& schema,
                                             const GrammarVocabulary& vocabulary, AnswerForm form);

  // Frees memory until the cache is within its bound. Call it after using grammars, because use
  // makes them grow. It drops the grammars that were unused for longest, except those that somebody
  // holds. If that is not enough, it drops what was learned about the held ones, which then has to
  // be found out again. Freed memory goes back to the system.
  void shrink();

  size_t size() const { return entries_.size(); }
  // The bytes of all grammars, as counted when they were last used.
  size_t memory_bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<SharedGrammar> grammar;
    size_t bytes = 0;
    bool used = false;  // used since its bytes were counted
    bool in_use() const { return grammar.use_count() > 1; }
  };
  using Entries = std::list<Entry>;

  void count(Entry& entry);
  void give_back(size_t freed);

  const size_t memory_max_;
  Entries entries_;  // the most recently used first
  std::unordered_map<std::string_view, Entries::iterator> by_key_;
  size_t bytes_ = 0;  // of all entries
  size_t freed_ = 0;  // freed since memory went back to the system
};

}  // namespace cascade
