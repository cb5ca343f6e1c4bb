// Models forget brackets and quotes. What they forgot is taken to be where the text ends.
#include "model/calls/relaxed_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text_edges.h"
#include "base/utf8.h"
#include "model/mark_bytes.h"

namespace cascade {
namespace {

// Values in values: more than any schema asks for, and little for the stack.
constexpr int kDepthMax = 64;
// How many quotes are looked at to find the one that ends a string, so that many strings take no
// longer.
constexpr int kQuotesMax = 64;

// Takes the code point of \uXXXX or \xXX, whose digits `text` begins with.
std::optional<uint32_t> take_digits(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value, 16);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

// Takes the rest of an escape, after the backslash and `kind`, and appends what it stands for.
void append_escape(std::string& out, char kind, std::string_view& rest) {
  constexpr std::string_view kKinds = "nrtbf";
  constexpr std::string_view kBytes = "\n\r\t\b\f";
  if (const size_t at = kKinds.find(kind); at != kKinds.npos) {
    out += kBytes[at];
    return;
  }
  if (kind == '\\' || kind == '"' || kind == '\'' || kind == '/') {
    out += kind;
    return;
  }
  std::string_view digits = rest;
  auto code_point = kind == 'u'   ? take_digits(digits, 4)
                    : kind == 'x' ? take_digits(digits, 2)
                                  : std::nullopt;
  if (!code_point) {
    out += '\\';
    out += kind;
    return;
  }
  const bool is_high = *code_point >= 0xD800 && *code_point < 0xDC00;
  if (is_high && digits.starts_with("\\u")) {
    std::string_view low_digits = digits.substr(2);
    const auto low = take_digits(low_digits, 4);
    if (low && *low >= 0xDC00 && *low < 0xE000) {
      code_point = 0x10000 + ((*code_point - 0xD800) << 10) + (*low - 0xDC00);
      digits = low_digits;
    }
  }
  utf8_append(out, *code_point);
  rest = digits;
}

std::string unmarked(std::string_view text) {
  std::string plain(text);
  std::erase(plain, kMarkByte);
  return plain;
}

// Whether a string may end before `rest`.
bool may_follow_string(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  return rest.empty() || std::string_view(",:=)]}").find(rest.front()) != std::string_view::npos;
}

}  // namespace

bool RelaxedText::at_end() {
  skip(kBlanks);
  return rest_.empty();
}

void RelaxedText::skip(std::string_view characters) {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
}

void RelaxedText::skip_bytes(size_t bytes) {
  rest_.remove_prefix(std::min(bytes, rest_.size()));
}

bool RelaxedText::take(char next) {
  skip(kBlanks);
  if (!rest_.starts_with(next)) return false;
  rest_.remove_prefix(1);
  return true;
}

std::string RelaxedText::take_until(std::string_view ends) {
  const std::string_view taken = rest_.substr(0, rest_.find_first_of(ends));
  rest_.remove_prefix(taken.size());
  return unmarked(trimmed(taken));
}

std::optional<OrderedJson> RelaxedText::members(char closing, const Bare& bare) {
  bare_ = &bare;
  depth_ = 0;
  return nested_members(closing);
}

std::optional<OrderedJson> RelaxedText::document(const Bare& bare) {
  bare_ = &bare;
  depth_ = 0;
  member_.clear();
  skip(kBlanks);
  return structure();
}

// Whether the members that `closing` would end may end without it: where the text ends, and those
// of a call in parentheses also where the line ends and at the end of a list. Otherwise skips
// blanks.
bool RelaxedText::ends_here(char closing) {
  const std::string_view before = rest_;
  skip(kBlanks);
  const std::string_view blanks = before.substr(0, before.size() - rest_.size());
  if (rest_.empty()) return true;
  if (closing != ')' || depth_ > 0 || rest_.starts_with(closing) || rest_.starts_with(',')) {
    return false;
  }
  if (rest_.starts_with(']')) return true;
  if (blanks.find('\n') == blanks.npos) return false;
  rest_ = before;
  return true;
}

std::optional<OrderedJson> RelaxedText::nested_members(char closing) {
  OrderedJson members = OrderedJson::object();
  while (!take(closing)) {
    if (rest_.empty()) return members;
    std::optional<std::string> name = quoted();
    if (!name) name = take_until("=:,(){}[]");
    if (!take('=') && !take(':')) return std::nullopt;
    if (depth_ == 0) member_ = *name;
    auto read = value(closing);
    if (!read) return std::nullopt;
    members[*std::move(name)] = *std::move(read);
    if (ends_here(closing)) return members;
    if (!take(',') && !rest_.starts_with(closing)) return std::nullopt;
  }
  return members;
}

std::optional<OrderedJson> RelaxedText::elements(char closing) {
  OrderedJson elements = OrderedJson::array();
  while (!take(closing)) {
    if (rest_.empty()) return elements;
    auto read = value(closing);
    if (!read) return std::nullopt;
    elements.push_back(*std::move(read));
    if (take(',') || rest_.empty()) continue;
    if (!rest_.starts_with(closing)) return std::nullopt;
  }
  return elements;
}

// Takes an object, a list or a tuple.
std::optional<OrderedJson> RelaxedText::structure() {
  if (depth_ == kDepthMax) return std::nullopt;
  ++depth_;
  auto read = take('{')   ? nested_members('}')
              : take('[') ? elements(']')
              : take('(') ? elements(')')
                          : std::nullopt;
  --depth_;
  return read;
}

// Takes a value that `closing` or a comma follows.
std::optional<OrderedJson> RelaxedText::value(char closing) {
  if (auto text = quoted()) return *std::move(text);
  const bool is_structure = rest_.starts_with('[') || rest_.starts_with('{') ||
                            (rest_.starts_with('(') && closing != '}');
  if (is_structure) return structure();
  // A call in parentheses may lack its end.
  const std::string text =
      take_until(closing == ')' && depth_ == 0 ? ",)]\n" : std::string(",") + closing);
  if (text.empty()) return std::nullopt;
  return (*bare_)(depth_ == 0 ? member_ : "", text);
}

// Takes a string; nullopt if none is next.
std::optional<std::string> RelaxedText::quoted() {
  skip(kBlanks);
  if (rest_.starts_with(kMarkByte)) return marked();
  if (rest_.starts_with('"') || rest_.starts_with('\'')) return escaped(rest_.front());
  return std::nullopt;
}

// Takes a string between marks. One that is never closed ends before the last bracket.
std::string RelaxedText::marked() {
  rest_.remove_prefix(1);
  const size_t mark = rest_.find(kMarkByte);
  const bool is_closed = mark != rest_.npos;
  const size_t end = is_closed ? mark : std::min(rest_.find_last_of(")}"), rest_.size());
  std::string text(rest_.substr(0, end));
  rest_.remove_prefix(end + (is_closed ? 1 : 0));
  return text;
}

// Takes a string in quotes. It ends at a quote that something else of the arguments follows, or
// else at the first quote, or else where the text ends.
std::string RelaxedText::escaped(char quote) {
  const std::string_view body = rest_.substr(1);
  size_t first = body.npos, end = body.npos;
  int left = kQuotesMax;
  for (size_t at = 0; at < body.size() && end == body.npos && left > 0; ++at) {
    if (body[at] == '\\') {
      ++at;
    } else if (body[at] == quote) {
      if (first == body.npos) first = at;
      if (may_follow_string(body.substr(at + 1))) end = at;
      --left;
    }
  }
  if (end == body.npos) end = std::min(first, body.size());
  std::string text;
  std::string_view inner = body.substr(0, end);
  while (!inner.empty()) {
    const size_t plain = std::min(inner.find('\\'), inner.size());
    text += inner.substr(0, plain);
    inner.remove_prefix(plain);
    if (inner.size() < 2) {
      text += inner;
      break;
    }
    const char kind = inner[1];
    inner.remove_prefix(2);
    append_escape(text, kind, inner);
  }
  std::erase(text, kMarkByte);
  rest_ = body.substr(std::min(end + 1, body.size()));
  return text;
}

}  // namespace cascade
