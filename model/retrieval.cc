// The best passages are taken until there is no room for the next one.
#include "model/retrieval.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "model/passage_ranking.h"

namespace cascade {
namespace {

constexpr std::string_view kHeading = "Earlier in this conversation:\n\n";
constexpr std::string_view kEnd = "Now:\n\n";
// A long question counts only with its beginning and its end, of so many bytes each.
constexpr size_t kQueryBytes = 2048;
// The bytes that a sentence has at most: fewer if there is little room.
constexpr int64_t kSentenceBytesMin = 20;
constexpr int64_t kSentenceBytesMax = 240;
// After so many passages that did not fit, hardly anything would.
constexpr int kMissesMax = 8;
// Passages with more bytes than this for each token are not tried: ordinary text has 3 to 5 bytes a
// token, and a sentence may be in three passages.
constexpr int64_t kTokenBytes = 8 * 3;

std::string query_of(const std::string& question) {
  if (question.size() <= 2 * kQueryBytes) return question;
  return question.substr(0, kQueryBytes) + " " + question.substr(question.size() - kQueryBytes);
}

// The chosen parts of a text, in order and without overlaps.
using Parts = std::map<size_t, size_t>;  // begin, end

void add_part(Parts& parts, size_t begin, size_t end) {
  auto next = parts.upper_bound(begin);
  if (next != parts.begin() && std::prev(next)->second >= begin) next = std::prev(next);
  while (next != parts.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = parts.erase(next);
  }
  parts.emplace(begin, end);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::string joined(std::string_view text, const Parts& parts) {
  std::string all;
  for (const auto& [begin, end] : parts) {
    if (!all.empty()) all += " … ";
    all += trimmed(text.substr(begin, end - begin));
  }
  return all;
}

class Excerpts {
 public:
  Excerpts(const Tokenizer& tokenizer, std::span<const EarlierTurn> turns)
      : tokenizer_(&tokenizer), turns_(turns) {}

  void add(const Passage& passage) { add(passage, passage.begin, passage.end); }
  void add_sentence(const Passage& passage) {
    add(passage, passage.sentence_begin, passage.sentence_end);
  }
  bool empty() const { return turns_chosen_.empty(); }

  std::string text() const {
    std::string all(kHeading);
    for (const auto& [turn, parts] : turns_chosen_) all += turn_text(turn) + "\n";
    return all + std::string(kEnd);
  }

  Result<std::vector<Retrieved>> from() const {
    std::vector<Retrieved> from;
    for (const auto& [turn, parts] : turns_chosen_) {
      ASSIGN_OR_RETURN(const int64_t tokens, tokens_of(turn_text(turn)));
      from.push_back({turns_[turn].chunk_id, tokens});
    }
    return from;
  }

  Result<int64_t> tokens() const { return tokens_of(text()); }

 private:
  Result<int64_t> tokens_of(const std::string& text) const {
    ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                     tokenizer_->encode(text, /*trusted=*/false, /*with_template=*/false));
    return std::ssize(ids);
  }

  std::string turn_text(size_t turn) const {
    const auto& [question, answer] = turns_chosen_.at(turn);
    std::string text;
    if (!question.empty()) text += "User: " + joined(turns_[turn].question, question) + "\n";
    if (!answer.empty()) text += "Assistant: " + joined(turns_[turn].answer, answer) + "\n";
    return text;
  }

  void add(const Passage& passage, size_t begin, size_t end) {
    auto& [question, answer] = turns_chosen_[passage.turn];
    add_part(passage.is_answer ? answer : question, begin, end);
  }

  const Tokenizer* tokenizer_;
  std::span<const EarlierTurn> turns_;
  std::map<size_t, std::pair<Parts, Parts>> turns_chosen_;  // parts of question and answer
};

// Takes as many of the best passages as fit together. After that, each of the next ones is taken if
// it fits, or else its sentence alone, so that a long one does not keep out short ones.
Result<Excerpts> choose(const Excerpts& none, std::span<const Passage> passages,
                        int64_t tokens_max) {
  const auto fits = [&](const Excerpts& excerpts) -> Result<bool> {
    ASSIGN_OR_RETURN(const int64_t tokens, excerpts.tokens());
    return tokens <= tokens_max;
  };
  const auto first = [&](size_t count) {
    Excerpts excerpts = none;
    for (const Passage& passage : passages.first(count)) excerpts.add(passage);
    return excerpts;
  };
  size_t together = 0, most = passages.size();
  while (together < most) {
    const size_t tried = (together + most + 1) / 2;
    ASSIGN_OR_RETURN(const bool all, fits(first(tried)));
    together = all ? tried : together;
    most = all ? most : tried - 1;
  }
  Excerpts chosen = first(together);
  int misses = 0;
  for (size_t i = together; i < passages.size() && misses < kMissesMax; ++i) {
    Excerpts more = chosen, fewer = chosen;
    more.add(passages[i]);
    fewer.add_sentence(passages[i]);
    ASSIGN_OR_RETURN(const bool has_room, fits(more));
    ASSIGN_OR_RETURN(const bool has_some_room, has_room ? has_room : fits(fewer));
    if (has_some_room) {
      chosen = has_room ? std::move(more) : std::move(fewer);
    } else {
      ++misses;
    }
  }
  return chosen;
}

}  // namespace

const ChatMessage* newest_question(std::span<const ChatMessage> messages) {
  const auto found = std::find_if(messages.rbegin(), messages.rend(),
                                  [](const ChatMessage& m) { return m.role == "user"; });
  return found == messages.rend() ? nullptr : &*found;
}

Result<RetrievedText> retrieve(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                               std::span<const EarlierTurn> turns, int64_t tokens_max) {
  const ChatMessage* const question = newest_question(messages);
  if (question == nullptr) return RetrievedText();
  // No text has more tokens than bytes, so a sentence has room beside the heading.
  const auto sentence_bytes =
      static_cast<size_t>(std::clamp(tokens_max * 2 / 3, kSentenceBytesMin, kSentenceBytesMax));
  std::vector<Passage> passages = rank_passages(query_of(question->content), turns, sentence_bytes);
  // Takes more of the best than fit.
  size_t some = 0;
  for (int64_t bytes = 0; some < passages.size() && bytes <= kTokenBytes * tokens_max; ++some) {
    bytes += static_cast<int64_t>(passages[some].end - passages[some].begin);
  }
  ASSIGN_OR_RETURN(const Excerpts chosen,
                   choose(Excerpts(tokenizer, turns), std::span(passages).first(some), tokens_max));
  RetrievedText retrieved;
  if (chosen.empty()) return retrieved;
  retrieved.text = chosen.text();
  ASSIGN_OR_RETURN(retrieved.from, chosen.from());
  return retrieved;
}

void put_before_question(const RetrievedText& retrieved, std::vector<ChatMessage>& messages) {
  const ChatMessage* const question = newest_question(messages);
  CHECK(question != nullptr && !retrieved.text.empty());
  ChatMessage& changed = messages[static_cast<size_t>(question - messages.data())];
  changed.content = retrieved.text + changed.content;
}

}  // namespace cascade
