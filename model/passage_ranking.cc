// Sentences are scored one by one; a passage is a sentence with its neighbours.
#include "model/passage_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "base/words.h"

namespace cascade {
namespace {

// The usual parameters of BM25.
constexpr double kSaturation = 1.2;
constexpr double kLengthWeight = 0.75;
// A word counts less if it is only like a word of the query. When the words of a sentence that was
// found are searched for, those of the query count less.
constexpr double kAlikeWeight = 0.6;
constexpr double kAskedAgainWeight = 0.5;
// The number of best sentences whose words are searched for, too.
constexpr size_t kLeadsMax = 3;
// A sentence counts for its neighbours, which often name what it is about.
constexpr double kNeighbourWeight = 0.5;
// Words are alike if they begin with the same bytes, at least so many, and the rest is short.
constexpr size_t kStemBytesMin = 3;
constexpr size_t kEndingBytesMax = 3;
// In a longer query only equal words count, because each would be compared with all words.
constexpr size_t kAlikeWordsMax = 64;

using WordId = uint32_t;

struct Sentence {
  size_t turn = 0;
  bool is_answer = false;
  size_t begin = 0, end = 0;
  std::vector<WordId> words;
};

// Scripts that put no spaces between words, and Korean, whose words have many endings.
bool has_no_spaces(uint32_t c) {
  return (c >= 0x0E00 && c <= 0x0EFF) || (c >= 0x1000 && c <= 0x109F) ||
         (c >= 0x1780 && c <= 0x17FF) || (c >= 0x2E80 && c <= 0x9FFF) ||
         (c >= 0xAC00 && c <= 0xD7AF) || (c >= 0xF900 && c <= 0xFAFF) || c >= 0x20000;
}

// Calls `take` with the word, folded, or with its pairs of characters if its script has no spaces.
template <class Take>
void take_word(std::string_view word, bool has_spaces, const Take& take) {
  if (has_spaces) return take(folded_word(word));
  size_t at = 0;
  do {
    const size_t next = at + utf8_decode(word, at).size;
    const size_t end = next < word.size() ? next + utf8_decode(word, next).size : next;
    if (end > next || at == 0) take(folded_word(word.substr(at, end - at)));
    at = next;
  } while (at < word.size());
}

// Does that with each word of the text. A word ends also where the script changes.
template <class Take>
void for_words(std::string_view text, const Take& take) {
  for (auto span = next_word(text, 0); span; span = next_word(text, span->end)) {
    size_t begin = span->begin;
    while (begin < span->end) {
      const bool pairs = has_no_spaces(utf8_decode(text, begin).value);
      size_t end = begin;
      while (end < span->end && has_no_spaces(utf8_decode(text, end).value) == pairs) {
        end += utf8_decode(text, end).size;
      }
      take_word(text.substr(begin, end - begin), !pairs, take);
      begin = end;
    }
  }
}

bool ends_sentence(std::string_view text, size_t at) {
  const char c = text[at];
  if (c == '\n') return true;
  if (c == '.' || c == '!' || c == '?') {
    return at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n';
  }
  // The ideographic full stop, U+3002.
  return static_cast<uint8_t>(c) == 0x82 && at >= 2 && text.substr(at - 2, 3) == "\xE3\x80\x82";
}

// Where the sentence that begins at `begin` ends.
size_t sentence_end(std::string_view text, size_t begin, size_t bytes_max) {
  const size_t most = std::min(text.size(), begin + bytes_max);
  for (size_t at = begin; at < most; ++at) {
    if (ends_sentence(text, at)) return at + 1;
  }
  if (most == text.size()) return most;
  const std::string_view cut = text.substr(begin, most - begin);
  const size_t space = cut.rfind(' ');
  if (space != std::string_view::npos && space > cut.size() / 2) return begin + space + 1;
  return most - std::min(utf8_incomplete_suffix(cut), cut.size() - 1);
}

class Ranking {
 public:
  Ranking(std::span<const EarlierTurn> turns, size_t sentence_bytes_max)
      : sentence_bytes_max_(sentence_bytes_max) {
    for (size_t i = 0; i < turns.size(); ++i) {
      add(i, /*is_answer=*/false, turns[i].question);
      add(i, /*is_answer=*/true, turns[i].answer);
    }
    sentences_with_.resize(ids_.size());
    std::vector<size_t> latest_with(ids_.size());  // sentence of each word, counted from 1
    size_t all = 0;
    for (size_t i = 0; i < count(); ++i) {
      for (const WordId word : sentences_[i].words) {
        if (std::exchange(latest_with[word], i + 1) != i + 1) ++sentences_with_[word];
      }
      all += sentences_[i].words.size();
    }
    average_ = static_cast<double>(all) / static_cast<double>(std::max<size_t>(1, count()));
  }

  // Takes the best sentences of the query and, in turn with these, those that its best ones lead
  // to.
  std::vector<Passage> rank(std::string_view query) const {
    const Weights asked = weights_of(query);
    const std::vector<size_t> found = best(scores(asked));
    std::vector<std::vector<size_t>> leads;
    for (const size_t place : leading(found)) {
      leads.push_back(best(scores(weights_led_by(sentences_[place], asked))));
    }
    std::vector<size_t> next(leads.size());  // of each lead
    std::vector<Passage> ranked;
    std::vector<bool> taken(count());
    const auto take = [&](const std::vector<size_t>& order, size_t& at) {
      while (at < order.size() && taken[order[at]]) ++at;
      if (at == order.size()) return false;
      taken[order[at]] = true;
      ranked.push_back(passage_around(order[at]));
      return true;
    };
    size_t next_found = 0, lead = 0,
           ended = 0;  // the number of leads that ended one after the other
    while (take(found, next_found) || ended < leads.size()) {
      if (leads.empty()) continue;
      ended = take(leads[lead], next[lead]) ? 0 : ended + 1;
      lead = (lead + 1) % leads.size();
    }
    return ranked;
  }

 private:
  using Weights = std::vector<double>;  // [words]

  size_t count() const { return sentences_.size(); }

  void add(size_t turn, bool is_answer, std::string_view text) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = sentence_end(text, begin, sentence_bytes_max_);
      Sentence sentence = {turn, is_answer, begin, end, {}};
      for_words(text.substr(begin, end - begin), [&](std::string&& word) {
        sentence.words.push_back(
            ids_.try_emplace(std::move(word), static_cast<WordId>(ids_.size())).first->second);
      });
      if (!sentence.words.empty()) sentences_.push_back(std::move(sentence));
      begin = end;
    }
  }

  static bool has_digit(std::string_view text) {
    return text.find_first_of("0123456789") != std::string_view::npos;
  }

  // Numbers that begin alike are other numbers.
  static bool are_alike(std::string_view a, std::string_view b) {
    const auto same = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    const size_t longest = std::max(a.size(), b.size());
    return same >= kStemBytesMin && longest - same <= kEndingBytesMax && 2 * same >= longest &&
           !has_digit(a.substr(same)) && !has_digit(b.substr(same));
  }

  Weights weights_of(std::string_view query) const {
    std::set<std::string> wanted;
    for_words(query, [&](std::string&& word) { wanted.insert(std::move(word)); });
    const bool is_short = wanted.size() <= kAlikeWordsMax;
    Weights weights(ids_.size());
    for (const auto& [word, id] : ids_) {
      if (wanted.contains(word)) {
        weights[id] = 1;
      } else if (is_short &&
                 std::ranges::any_of(wanted, [&](const auto& w) { return are_alike(w, word); })) {
        weights[id] = kAlikeWeight;
      }
    }
    return weights;
  }

  // The best sentences, without those that have the words of a better one.
  std::vector<size_t> leading(std::span<const size_t> order) const {
    std::vector<size_t> leads;
    for (const size_t place : order) {
      if (leads.size() == kLeadsMax) break;
      const bool is_new = std::ranges::none_of(
          leads, [&](size_t other) { return sentences_[other].words == sentences_[place].words; });
      if (is_new) leads.push_back(place);
    }
    return leads;
  }

  // Once the sentence was found, its other words are searched for, and those of the query count
  // less.
  static Weights weights_led_by(const Sentence& sentence, const Weights& asked) {
    Weights weights(asked);
    for (double& weight : weights) weight *= kAskedAgainWeight;
    for (const WordId word : sentence.words) {
      if (asked[word] == 0) weights[word] = 1;
    }
    return weights;
  }

  double score(const Sentence& sentence, const Weights& weights) const {
    std::map<WordId, double> counts;
    for (const WordId word : sentence.words) {
      if (weights[word] > 0) ++counts[word];
    }
    const double length = static_cast<double>(sentence.words.size()) / average_;
    double sum = 0;
    for (const auto& [word, times] : counts) {
      const auto with = static_cast<double>(sentences_with_[word]);
      const double rare = std::log(1 + (static_cast<double>(count()) - with + 0.5) / (with + 0.5));
      const double dampened = times * (kSaturation + 1) /
                              (times + kSaturation * (1 - kLengthWeight + kLengthWeight * length));
      sum += weights[word] * rare * dampened;
    }
    return sum;
  }

  bool are_neighbours(size_t a, size_t b) const {
    return b < count() && sentences_[a].turn == sentences_[b].turn &&
           sentences_[a].is_answer == sentences_[b].is_answer;
  }

  // 0 for sentences without a wanted word.
  std::vector<double> scores(const Weights& weights) const {
    std::vector<double> own;
    for (const Sentence& sentence : sentences_) own.push_back(score(sentence, weights));
    std::vector<double> all = own;
    for (size_t i = 0; i < count(); ++i) {
      if (own[i] == 0) continue;
      if (i > 0 && are_neighbours(i, i - 1)) all[i] += kNeighbourWeight * own[i - 1];
      if (are_neighbours(i, i + 1)) all[i] += kNeighbourWeight * own[i + 1];
    }
    return all;
  }

  // The places of the sentences with a score, best first; later ones before earlier ones.
  static std::vector<size_t> best(const std::vector<double>& scores) {
    std::vector<size_t> order;
    for (size_t i = scores.size(); i-- > 0;) {
      if (scores[i] > 0) order.push_back(i);
    }
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    return order;
  }

  Passage passage_around(size_t place) const {
    const size_t first = place > 0 && are_neighbours(place, place - 1) ? place - 1 : place;
    const size_t last = are_neighbours(place, place + 1) ? place + 1 : place;
    const Sentence& sentence = sentences_[place];
    return {sentence.turn,        sentence.is_answer, sentences_[first].begin,
            sentences_[last].end, sentence.begin,     sentence.end};
  }

  const size_t sentence_bytes_max_;
  std::unordered_map<std::string, WordId> ids_;
  std::vector<Sentence> sentences_;
  std::vector<size_t> sentences_with_;  // [words]
  double average_ = 0;                  // words of a sentence
};

}  // namespace

std::vector<Passage> rank_passages(std::string_view query, std::span<const EarlierTurn> turns,
                                   size_t sentence_bytes_max) {
  return Ranking(turns, sentence_bytes_max).rank(query);
}

}  // namespace cascade
