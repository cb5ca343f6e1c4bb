// Each word is searched for by itself, because FTS5's own bm25() looks at the chunks of all
// tenants.
#include "persist/chunk_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "persist/search_expression.h"

namespace cascade {
namespace {

// Frequent words in a large store would keep it busy for long.
constexpr int64_t kRowsMax = 100'000;

struct Candidate {
  std::string id;
  double score = 0;
};
using Candidates = std::map<int64_t, Candidate, std::greater<>>;  // by number, the newest first

Result<Candidates> find_candidates(Database& database, std::string_view tenant,
                                   const std::vector<std::string>& ids) {
  const std::string names =
      nlohmann::json(ids).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  ASSIGN_OR_RETURN(Query rows, database.query("SELECT number, id FROM chunks WHERE tenant = ? "
                                              "AND id IN (SELECT value FROM json_each(?))"));
  rows.bind(tenant, names);
  Candidates candidates;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, rows.next());
    if (!more) return candidates;
    candidates[rows.integer(0)] = {rows.text(1)};
  }
}

// Adds what the word counts to the scores of those that have it. `rows_left` counts down.
Status score(Database& database, const std::string& expression, Candidates& candidates,
             int64_t& rows_left) {
  ASSIGN_OR_RETURN(Query found, database.query("SELECT rowid FROM chunk_search WHERE "
                                               "chunk_search MATCH ? AND rowid BETWEEN ? AND ?"));
  found.bind(expression, candidates.rbegin()->first, candidates.begin()->first);
  std::vector<Candidate*> with_word;
  for (; rows_left > 0; --rows_left) {
    ASSIGN_OR_RETURN(const bool more, found.next());
    if (!more) break;
    const auto candidate = candidates.find(found.integer(0));
    if (candidate != candidates.end()) with_word.push_back(&candidate->second);
  }
  const auto all = static_cast<double>(candidates.size());
  const auto with = static_cast<double>(with_word.size());
  const double worth = std::log(1 + (all - with + 0.5) / (with + 0.5));
  for (Candidate* candidate : with_word) candidate->score += worth;
  return {};
}

}  // namespace

Result<std::vector<std::string>> rank_chunks(Database& database, std::string_view tenant,
                                             std::string_view question,
                                             const std::vector<std::string>& ids, size_t limit) {
  std::vector<std::string> best;
  ASSIGN_OR_RETURN(Candidates candidates, find_candidates(database, tenant, ids));
  if (candidates.empty()) return best;
  int64_t rows_left = kRowsMax;
  for (const std::string& word : each_word(question)) {
    RETURN_IF_ERROR(score(database, word, candidates, rows_left));
  }
  std::vector<const Candidate*> order;
  for (const auto& [number, candidate] : candidates) {
    if (candidate.score > 0) order.push_back(&candidate);
  }
  std::ranges::stable_sort(order, std::greater<>(), &Candidate::score);
  for (const Candidate* candidate : order) {
    if (best.size() < limit) best.push_back(candidate->id);
  }
  return best;
}

}  // namespace cascade
