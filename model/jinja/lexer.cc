// The outer lexer: text, where tags begin and end, and the whitespace around them.
#include "model/jinja/lexer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "model/jinja/error.h"
#include "model/jinja/literal.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

// "\r\n" and "\r" become "\n"; one newline at the end is removed (keep_trailing_newline is off).
std::string normalize_newlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
      continue;
    }
    text += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// How a tag may end: "%}", "-%}" and perhaps "+%}".
struct Closer {
  std::string_view text;
  bool plus_allowed;
  bool trims_newline;  // trim_blocks
};
constexpr Closer kBlockCloser = {"%}", true, true};
constexpr Closer kVariableCloser = {"}}", false, false};
constexpr Closer kCommentCloser = {"#}", true, true};
constexpr Closer kRawCloser = {"%}", false, false};

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), view_(source_) {}

  Result<std::vector<Token>> run();

 private:
  size_t find_tag() const;
  Status lex_tag(size_t tag);
  Status lex_comment();
  Status lex_raw(size_t body_begin);
  Status lex_expression_tag(bool is_block);
  Status lex_token();
  Status lex_operator();
  Status track_bracket(char bracket);
  Status lex_number();

  char at(size_t offset) const { return offset < view_.size() ? view_[offset] : '\0'; }
  size_t skip_space(size_t offset) const;
  std::optional<size_t> closed_at(size_t offset, const Closer& closer) const;
  std::optional<size_t> keyword_tag_at(size_t tag, std::string_view word,
                                       const Closer& closer) const;
  char sign_at(size_t offset) const;
  void add_data(size_t end, char sign, bool before_variable);
  void add(TokenKind kind, std::string text = {});
  void advance(size_t to);
  Error fail(std::string message) const { return at_line(template_error(message), line_); }

  const std::string source_;
  const std::string_view view_;
  size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // pos_ is right after a newline, or at the beginning
  std::string brackets_;       // the open brackets of the current tag
  std::vector<Token> tokens_;
};

Result<std::vector<Token>> Lexer::run() {
  while (pos_ < view_.size()) {
    const size_t tag = find_tag();
    if (tag == std::string_view::npos) {
      add_data(view_.size(), '+', false);
      break;
    }
    RETURN_IF_ERROR(lex_tag(tag));
  }
  add(TokenKind::kEnd);
  return std::move(tokens_);
}

size_t Lexer::find_tag() const {
  size_t brace = view_.find('{', pos_);
  while (brace != std::string_view::npos) {
    const char next = at(brace + 1);
    if (next == '{' || next == '%' || next == '#') return brace;
    brace = view_.find('{', brace + 1);
  }
  return brace;
}

// Reads the text from pos_ up to `tag`, and the tag.
Status Lexer::lex_tag(size_t tag) {
  const char kind = view_[tag + 1];
  const char sign = sign_at(tag + 2);
  add_data(tag, sign, kind == '{');
  if (kind == '%') {
    if (const auto body = keyword_tag_at(tag, "raw", kRawCloser)) return lex_raw(*body);
  }
  advance(tag + 2 + (sign != '\0' ? 1 : 0));
  if (kind == '#') return lex_comment();
  return lex_expression_tag(kind == '%');
}

Status Lexer::lex_comment() {
  const size_t end = view_.find("#}", pos_);
  if (end == std::string_view::npos) return fail("the comment is not closed: '#}' is missing");
  const bool signed_end = end > pos_ && sign_at(end - 1) != '\0';
  advance(*closed_at(signed_end ? end - 1 : end, kCommentCloser));
  return {};
}

Status Lexer::lex_raw(size_t body_begin) {
  advance(body_begin);
  for (size_t tag = view_.find("{%", pos_); tag != std::string_view::npos;
       tag = view_.find("{%", tag + 1)) {
    if (const auto after = keyword_tag_at(tag, "endraw", kBlockCloser)) {
      add_data(tag, sign_at(tag + 2), false);
      advance(*after);
      return {};
    }
  }
  return fail("the raw block is not closed: '{% endraw %}' is missing");
}

Status Lexer::lex_expression_tag(bool is_block) {
  const Closer& closer = is_block ? kBlockCloser : kVariableCloser;
  add(is_block ? TokenKind::kBlockBegin : TokenKind::kVariableBegin);
  brackets_.clear();
  while (pos_ < view_.size()) {
    const auto after = brackets_.empty() ? closed_at(pos_, closer) : std::nullopt;
    if (after.has_value()) {
      add(is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd);
      advance(*after);
      return {};
    }
    if (const size_t end = skip_space(pos_); end > pos_) {
      advance(end);
    } else {
      RETURN_IF_ERROR(lex_token());
    }
  }
  return fail("the tag is not closed: '" + std::string(closer.text) + "' is missing");
}

// Reads one token inside a tag. Precondition: pos_ is neither at whitespace nor at the end.
Status Lexer::lex_token() {
  const char first = view_[pos_];
  if (is_ascii_digit(first)) return lex_number();
  if (is_ascii_alpha(first) || first == '_') {
    size_t end = pos_ + 1;
    while (is_ascii_alpha(at(end)) || is_ascii_digit(at(end)) || at(end) == '_') ++end;
    add(TokenKind::kName, std::string(view_.substr(pos_, end - pos_)));
    advance(end);
    return {};
  }
  if (first != '\'' && first != '"') return lex_operator();
  size_t end = pos_ + 1;
  while (end < view_.size() && view_[end] != first) end += view_[end] == '\\' ? 2 : 1;
  if (end >= view_.size()) return fail("the string is not closed");
  auto text = unescape_string(view_.substr(pos_ + 1, end - pos_ - 1));
  if (!text.ok()) return at_line(text.error(), line_);
  add(TokenKind::kString, std::move(text).value());
  advance(end + 1);
  return {};
}

Status Lexer::lex_number() {
  const bool after_dot = pos_ > 0 && view_[pos_ - 1] == '.';
  auto literal = read_number(view_.substr(pos_), after_dot);
  if (!literal.ok()) return at_line(literal.error(), line_);
  Token token{literal->is_float ? TokenKind::kFloat : TokenKind::kInteger, line_,
              std::string(view_.substr(pos_, literal->size)), literal->integer, literal->number};
  tokens_.push_back(std::move(token));
  advance(pos_ + literal->size);
  return {};
}

Status Lexer::lex_operator() {
  static constexpr std::string_view kTwoChars[] = {"//", "**", "==", "!=", ">=", "<="};
  static constexpr std::string_view kOneChar = "+-/*%~[](){}><=.:|,;";
  const std::string_view two = view_.substr(pos_, 2);
  if (std::ranges::find(kTwoChars, two) != std::end(kTwoChars)) {
    add(TokenKind::kOperator, std::string(two));
    advance(pos_ + 2);
    return {};
  }
  const char op = view_[pos_];
  if (kOneChar.find(op) == std::string_view::npos) {
    const std::string_view shown = view_.substr(pos_, utf8_decode(view_, pos_).size);
    return fail("unexpected character " + in_quotes(shown));
  }
  RETURN_IF_ERROR(track_bracket(op));
  add(TokenKind::kOperator, std::string(1, op));
  advance(pos_ + 1);
  return {};
}

// Inside brackets "}}" and "%}" do not end the tag.
Status Lexer::track_bracket(char bracket) {
  if (bracket == '(' || bracket == '[' || bracket == '{') {
    brackets_ += bracket;
    return {};
  }
  if (bracket != ')' && bracket != ']' && bracket != '}') return {};
  const char opener = bracket == ')' ? '(' : bracket == ']' ? '[' : '{';
  if (brackets_.empty() || brackets_.back() != opener) {
    return fail(std::string("unexpected '") + bracket + "'");
  }
  brackets_.pop_back();
  return {};
}

size_t Lexer::skip_space(size_t offset) const {
  while (offset < view_.size()) {
    const CodePoint code_point = utf8_decode(view_, offset);
    if (!is_space(code_point.value)) break;
    offset += code_point.size;
  }
  return offset;
}

// If `closer` is at `offset`, the offset after it and after what it trims.
std::optional<size_t> Lexer::closed_at(size_t offset, const Closer& closer) const {
  const std::string_view rest = view_.substr(offset);
  if (rest.starts_with(closer.text)) {
    const size_t after = offset + closer.text.size();
    return after + (closer.trims_newline && at(after) == '\n' ? 1 : 0);
  }
  if (rest.size() <= closer.text.size() || !rest.substr(1).starts_with(closer.text)) {
    return std::nullopt;
  }
  const size_t after = offset + 1 + closer.text.size();
  if (rest[0] == '-') return skip_space(after);
  if (rest[0] == '+' && closer.plus_allowed) return after;
  return std::nullopt;
}

// The offset after the tag that begins at `tag`, if the tag holds only `word` ("{%- raw %}").
std::optional<size_t> Lexer::keyword_tag_at(size_t tag, std::string_view word,
                                            const Closer& closer) const {
  const size_t begin = skip_space(tag + 2 + (sign_at(tag + 2) != '\0' ? 1 : 0));
  if (!view_.substr(begin).starts_with(word)) return std::nullopt;
  return closed_at(skip_space(begin + word.size()), closer);
}

char Lexer::sign_at(size_t offset) const {
  const char sign = at(offset);
  return sign == '-' || sign == '+' ? sign : '\0';
}

// Adds the text from pos_ to `end`, without the whitespace that the next tag strips. `sign` is the
// sign of that tag.
void Lexer::add_data(size_t end, char sign, bool before_variable) {
  std::string_view text = view_.substr(pos_, end - pos_);
  if (sign == '-') {
    text = text.substr(0, strip_range(text, {}, false, true).second);
  } else if (sign != '+' && !before_variable) {
    const size_t line_begin = text.rfind('\n') + 1;  // 0 if there is no newline
    const bool starts_line = line_begin > 0 || line_starting_;
    if (starts_line && skip_space(pos_ + line_begin) >= end) text = text.substr(0, line_begin);
  }
  if (!text.empty()) add(TokenKind::kData, std::string(text));
  advance(end);
}

void Lexer::add(TokenKind kind, std::string text) {
  tokens_.push_back(Token{kind, line_, std::move(text), 0, 0});
}

// Moves on to `to`. The text before it is done.
void Lexer::advance(size_t to) {
  const std::string_view passed = view_.substr(pos_, to - pos_);
  line_ += static_cast<int>(std::ranges::count(passed, '\n'));
  if (!passed.empty()) line_starting_ = passed.back() == '\n';
  pos_ = to;
}

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(normalize_newlines(source)).run();
}

}  // namespace cascade::jinja
