// Where a text begins, each likely token is decoded as a text of its own, not as one continuing
// text.
#include "wire/openai/logprobs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace cascade::openai {
namespace {

// The largest number of tokens in one request: a long answer has likely tokens at every place.
constexpr size_t kTokensAtOnce = 4096;

// A range of the sampled tokens that belongs to the answer. Thoughts may come before, between and
// after such ranges.
struct Part {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

std::vector<Part> answer_parts(const wire::Final& final) {
  std::vector<Part> parts;
  const size_t tokens = final.token_ids.size();
  size_t begin = 0;
  for (const ThinkSpan& span : final.think_spans) {
    const size_t thoughts = std::min(tokens, static_cast<size_t>(std::max(span.begin, 0)));
    if (begin < thoughts) parts.push_back({begin, thoughts});
    begin = std::max(begin, static_cast<size_t>(std::max(span.end, 0)));
  }
  if (begin < tokens) parts.push_back({begin, tokens});
  return parts;
}

size_t tops_of(const wire::Final& final) {
  return final.token_ids.empty() ? 0 : final.top_token_ids.size() / final.token_ids.size();
}

void ask(std::span<const int32_t> tokens, TextStart start, bool skip_special,
         std::vector<wire::DetokenizeRequest>& requests) {
  while (!tokens.empty()) {
    const auto some = tokens.first(std::min(kTokensAtOnce, tokens.size()));
    wire::DetokenizeRequest& request = requests.emplace_back();
    request.token_ids.assign(some.begin(), some.end());
    request.skip_special = skip_special;
    request.pieces = request.piece_bytes = true;
    request.text_start = start;
    if (start == TextStart::kFirst) start = TextStart::kNone;
    tokens = tokens.subspan(some.size());
  }
}

// A token of the answer, and the log-probabilities that are shown for it.
struct Place {
  size_t sampled;                 // the token's number among all sampled tokens
  TokenText text;                 // without line ends after thoughts: these are not answer
  std::vector<TokenText> likely;  // texts of the likely tokens; the sampled one has `text`
};

// Drops line ends at the beginning.
void strip(TokenText& text) {
  text.bytes.erase(0, std::min(text.bytes.find_first_not_of('\n'), text.bytes.size()));
  text.text.erase(0, std::min(text.text.find_first_not_of('\n'), text.text.size()));
}

std::vector<Place> places_of(const wire::Final& final, std::span<const TokenText> texts) {
  const size_t tops = tops_of(final);
  const size_t shown = texts.size() / (1 + tops);
  CHECK(final.logprobs.size() == final.token_ids.size());
  CHECK(texts.size() == shown * (1 + tops));
  std::vector<Place> places;
  size_t next = 0;
  for (const Part& part : answer_parts(final)) {
    bool begins = part.begin > 0;  // the first token after thoughts
    for (size_t i = part.begin; i < part.end; ++i, ++next) {
      Place place = {i, texts[next], {}};
      if (begins) strip(place.text);
      if (begins && place.text.bytes.empty()) continue;
      begins = false;
      for (size_t k = 0; k < tops; ++k) {
        const bool same = final.top_token_ids[i * tops + k] == final.token_ids[i];
        place.likely.push_back(same ? place.text : texts[shown + next * tops + k]);
      }
      places.push_back(std::move(place));
    }
  }
  CHECK(next == shown);
  while (!places.empty() && places.back().text.bytes.empty()) places.pop_back();
  return places;
}

OrderedJson token_entry(const TokenText& text, float logprob) {
  OrderedJson entry;
  entry["token"] = text.text;
  entry["logprob"] = logprob;
  entry["bytes"] = bytes_of(text.bytes);
  return entry;
}

std::string name_in_text(const TokenText& text) {
  if (is_utf8(text.bytes)) return text.text;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name = "bytes:";
  for (const char byte : text.bytes) {
    const auto value = static_cast<uint8_t>(byte);
    name += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
  }
  return name;
}

// The likely tokens at a place by name, the most likely first.
OrderedJson likely_at(const wire::Final& final, const Place& place) {
  OrderedJson likely = OrderedJson::object();
  const std::string sampled = name_in_text(place.text);
  std::set<std::string> taken = {sampled};
  for (size_t k = 0; k < place.likely.size(); ++k) {
    const size_t top = place.sampled * place.likely.size() + k;
    std::string name = name_in_text(place.likely[k]);
    const bool is_sampled = final.top_token_ids[top] == final.token_ids[place.sampled];
    if (!taken.insert(name).second && !is_sampled) {
      name = "token_id:" + std::to_string(final.top_token_ids[top]);
    }
    likely[name] = final.top_logprobs[top];
  }
  if (!likely.contains(sampled)) likely[sampled] = final.logprobs[place.sampled];
  return likely;
}

// Counts the characters of a text that arrives in arbitrary pieces of bytes.
class CharacterCount {
 public:
  // The whole characters of the text so far; an incomplete one at its end does not count.
  size_t whole() const { return whole_; }
  void add(std::string_view bytes) {
    rest_ += bytes;
    const size_t complete = rest_.size() - utf8_incomplete_suffix(rest_);
    for (size_t at = 0; at < complete; at += utf8_decode(rest_, at).size) ++whole_;
    rest_.erase(0, complete);
  }

 private:
  size_t whole_ = 0;
  std::string rest_;
};

}  // namespace

std::vector<wire::DetokenizeRequest> token_text_requests(const wire::Final& final, bool goes_on) {
  std::vector<wire::DetokenizeRequest> requests;
  const std::vector<Part> parts = answer_parts(final);
  const auto begins_text = [&](const Part& part) { return part.begin > 0 || !goes_on; };
  for (const Part& part : parts) {
    ask(std::span(final.token_ids).subspan(part.begin, part.size()),
        begins_text(part) ? TextStart::kFirst : TextStart::kNone, /*skip_special=*/true, requests);
  }
  const size_t tops = tops_of(final);
  for (const Part& part : parts) {
    const auto likely =
        std::span(final.top_token_ids).subspan(part.begin * tops, part.size() * tops);
    ask(likely.first(tops), begins_text(part) ? TextStart::kEach : TextStart::kNone,
        /*skip_special=*/false, requests);
    ask(likely.subspan(tops), TextStart::kNone, /*skip_special=*/false, requests);
  }
  return requests;
}

bool append_texts(wire::DetokenizeReply&& reply, size_t count, std::vector<TokenText>& texts) {
  if (reply.pieces.size() != count || reply.piece_bytes.size() != count) return false;
  for (size_t i = 0; i < count; ++i) {
    texts.push_back({std::move(reply.pieces[i]), std::move(reply.piece_bytes[i].bytes)});
  }
  return true;
}

OrderedJson bytes_of(std::string_view bytes) {
  OrderedJson array;
  for (const char byte : bytes) array.push_back(static_cast<uint8_t>(byte));
  return array;
}

OrderedJson encode_logprobs(const wire::Final& final, std::span<const TokenText> texts) {
  OrderedJson content = OrderedJson::array();
  for (const Place& place : places_of(final, texts)) {
    OrderedJson entry = token_entry(place.text, final.logprobs[place.sampled]);
    OrderedJson& tops = entry["top_logprobs"] = OrderedJson::array();
    for (size_t k = 0; k < place.likely.size(); ++k) {
      const size_t top = place.sampled * place.likely.size() + k;
      tops.push_back(token_entry(place.likely[k], final.top_logprobs[top]));
    }
    content.push_back(std::move(entry));
  }
  OrderedJson result;
  result["content"] = std::move(content);
  result["refusal"] = nullptr;
  return result;
}

OrderedJson encode_text_logprobs(const wire::Final& final, std::span<const TokenText> texts) {
  OrderedJson tokens = OrderedJson::array(), logprobs = tokens, tops = tokens, offsets = tokens;
  CharacterCount characters;
  for (const Place& place : places_of(final, texts)) {
    tokens.push_back(name_in_text(place.text));
    logprobs.push_back(final.logprobs[place.sampled]);
    tops.push_back(likely_at(final, place));
    offsets.push_back(characters.whole());
    characters.add(place.text.bytes);
  }
  OrderedJson result;
  result["tokens"] = std::move(tokens);
  result["token_logprobs"] = std::move(logprobs);
  result["top_logprobs"] = std::move(tops);
  result["text_offset"] = std::move(offsets);
  return result;
}

}  // namespace cascade::openai
