// The grammars that generations have, each compiled once.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/grammar_kind.h"
#include "model/grammar/output_constraint.h"

namespace cascade {

// Keeps the grammars that were used last, within bounds; those in use live on elsewhere. One thread
// at a time.
class GrammarCache {
 public:
  // As many generations run at once by default, each of which may have its own.
  static constexpr size_t kGrammarsMax = 64;
  static constexpr size_t kMemoryMax = size_t{256} << 20;

  // `vocabulary` must outlive it.
  explicit GrammarCache(size_t grammars_max = kGrammarsMax, size_t memory_max = kMemoryMax)
      : grammars_max_(grammars_max), memory_max_(memory_max) {}

  // Errors: as compile_grammar(), field "grammar.schema".
  Result<std::shared_ptr<SharedGrammar>> get(GrammarKind kind, const std::string& schema,
                                             const GrammarVocabulary& vocabulary);
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    GrammarKind kind;
    std::string schema;
    std::shared_ptr<SharedGrammar> grammar;
  };
  void shrink();

  const size_t grammars_max_;
  const size_t memory_max_;
  std::list<Entry> entries_;  // the last used first
};

}  // namespace cascade
