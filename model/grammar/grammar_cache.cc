// A short list that is searched.
#include "model/grammar/grammar_cache.h"

#include <algorithm>

#include "model/grammar/compile.h"

namespace cascade {

Result<std::shared_ptr<SharedGrammar>> GrammarCache::get(GrammarKind kind,
                                                         const std::string& schema,
                                                         const GrammarVocabulary& vocabulary) {
  const auto known = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.kind == kind && entry.schema == schema; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    ASSIGN_OR_RETURN(Grammar grammar, compile_grammar(kind, schema, "grammar.schema"));
    entries_.push_front(
        {kind, schema, std::make_shared<SharedGrammar>(std::move(grammar), vocabulary)});
  }
  shrink();
  return entries_.front().grammar;
}

// What they take grows while they are used.
void GrammarCache::shrink() {
  size_t bytes = 0, count = 0;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    bytes += entry->grammar->memory_bytes() + entry->schema.size();
    const bool fits = ++count <= grammars_max_ && bytes <= memory_max_;
    if (fits || count == 1) continue;
    entries_.erase(entry, entries_.end());
    return;
  }
}

}  // namespace cascade
