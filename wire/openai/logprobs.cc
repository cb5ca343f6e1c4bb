// Likely tokens at the place where a text begins are texts of their own.
#include "wire/openai/logprobs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace cascade::openai {
namespace {

// Of one request; a likely token may be asked for at every place of a long answer.
constexpr size_t kTokensAtOnce = 4096;

// The place among the sampled tokens where the answer begins: thoughts come first.
size_t answer_begin(const wire::Final& final) {
  const auto thoughts = static_cast<size_t>(std::max<int64_t>(0, final.usage.reasoning_tokens));
  return std::min(thoughts, final.token_ids.size());
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

// What log-probabilities are shown of.
struct Shown {
  const wire::Final& final;
  std::span<const TokenText> texts;
  size_t begin, end;  // of the sampled tokens
  size_t tops;        // likely ones at each place

  const TokenText& sampled(size_t i) const { return texts[i - begin]; }
  bool is_sampled(size_t i, size_t k) const {
    return final.top_token_ids[i * tops + k] == final.token_ids[i];
  }
  const TokenText& top(size_t i, size_t k) const {
    if (is_sampled(i, k)) return sampled(i);
    const size_t places = texts.size() / (1 + tops);
    return texts[places + (i - begin) * tops + k];
  }
};

Shown shown(const wire::Final& final, std::span<const TokenText> texts) {
  const size_t tokens = final.token_ids.size();
  CHECK(final.logprobs.size() == tokens);
  Shown result = {final, texts, answer_begin(final), tokens,
                  tokens == 0 ? 0 : final.top_token_ids.size() / tokens};
  CHECK(texts.size() == (result.end - result.begin) * (1 + result.tops));
  while (result.end > result.begin && result.sampled(result.end - 1).bytes.empty()) --result.end;
  return result;
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

// The likely tokens at place `i` by name, the most likely first.
OrderedJson likely_at(const Shown& part, size_t i) {
  OrderedJson likely = OrderedJson::object();
  if (part.tops == 0) return likely;
  const std::string sampled = name_in_text(part.sampled(i));
  std::set<std::string> taken = {sampled};
  for (size_t k = 0; k < part.tops; ++k) {
    std::string name = name_in_text(part.top(i, k));
    const bool is_free = taken.insert(name).second || part.is_sampled(i, k);
    const size_t place = i * part.tops + k;
    if (!is_free) name = "token_id:" + std::to_string(part.final.top_token_ids[place]);
    likely[name] = part.final.top_logprobs[place];
  }
  if (!likely.contains(sampled)) likely[sampled] = part.final.logprobs[i];
  return likely;
}

// Counts the characters of a text that comes in parts of any bytes.
class CharacterCount {
 public:
  // Of the text so far, but the one that is not complete.
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
  const size_t begin = answer_begin(final);
  const size_t tokens = final.token_ids.size();
  if (begin == tokens) return requests;
  const bool begins_text = begin > 0 || !goes_on;
  ask(std::span(final.token_ids).subspan(begin), begins_text ? TextStart::kFirst : TextStart::kNone,
      /*skip_special=*/true, requests);
  const size_t tops = final.top_token_ids.size() / tokens;
  const auto likely = std::span(final.top_token_ids).subspan(begin * tops);
  ask(likely.first(tops), begins_text ? TextStart::kEach : TextStart::kNone,
      /*skip_special=*/false, requests);
  ask(likely.subspan(tops), TextStart::kNone, /*skip_special=*/false, requests);
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
  const Shown part = shown(final, texts);
  OrderedJson content = OrderedJson::array();
  for (size_t i = part.begin; i < part.end; ++i) {
    OrderedJson entry = token_entry(part.sampled(i), final.logprobs[i]);
    OrderedJson& tops = entry["top_logprobs"] = OrderedJson::array();
    for (size_t k = 0; k < part.tops; ++k) {
      tops.push_back(token_entry(part.top(i, k), final.top_logprobs[i * part.tops + k]));
    }
    content.push_back(std::move(entry));
  }
  OrderedJson result;
  result["content"] = std::move(content);
  result["refusal"] = nullptr;
  return result;
}

OrderedJson encode_text_logprobs(const wire::Final& final, std::span<const TokenText> texts) {
  const Shown part = shown(final, texts);
  OrderedJson tokens = OrderedJson::array(), logprobs = tokens, tops = tokens, offsets = tokens;
  CharacterCount characters;
  for (size_t i = part.begin; i < part.end; ++i) {
    tokens.push_back(name_in_text(part.sampled(i)));
    logprobs.push_back(final.logprobs[i]);
    tops.push_back(likely_at(part, i));
    offsets.push_back(characters.whole());
    characters.add(part.sampled(i).bytes);
  }
  OrderedJson result;
  result["tokens"] = std::move(tokens);
  result["token_logprobs"] = std::move(logprobs);
  result["top_logprobs"] = std::move(tops);
  result["text_offset"] = std::move(offsets);
  return result;
}

}  // namespace cascade::openai
