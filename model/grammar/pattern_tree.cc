// A parser of ECMAScript's regular expressions by recursive descent.
#include "model/grammar/pattern_tree.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "model/grammar/character_properties.h"
#include "model/grammar/pattern.h"

namespace cascade {
namespace {

using Set = std::vector<CodePointRange>;
using Kind = PatternNode::Kind;

// The deepest nesting of groups. Nobody writes a deeper pattern.
constexpr int kGroupsMax = 50;

Set normalised(Set set) {
  std::ranges::sort(set, {}, &CodePointRange::low);
  Set result;
  for (const CodePointRange& range : set) {
    if (!result.empty() && range.low <= result.back().high + 1) {
      result.back().high = std::max(result.back().high, range.high);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

Set complement(const Set& set) {
  Set result;
  uint32_t low = 0;
  for (const CodePointRange& range : normalised(set)) {
    if (range.low > low) result.push_back({low, range.low - 1});
    low = range.high + 1;
  }
  if (low <= kCodePointMax) result.push_back({low, kCodePointMax});
  return result;
}

// The set of \d, \w, \s or one of their opposites.
std::optional<Set> class_of(char32_t c) {
  switch (c) {
    case 'd': return Set{{'0', '9'}};
    case 'w': return word_characters();
    case 's':
      return Set{{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                 {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                 {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    case 'D': return complement(*class_of('d'));
    case 'W': return complement(*class_of('w'));
    case 'S': return complement(*class_of('s'));
    default: return std::nullopt;
  }
}

const Set& line_ends() {
  static const Set set = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return set;
}

class Parser {
 public:
  Parser(std::u32string text, size_t& work) : text_(std::move(text)), work_(work) {}

  Result<PatternTree> parse() {
    std::vector<uint32_t> alternatives;
    do {
      ASSIGN_OR_RETURN(const uint32_t alternative, parse_alternative(/*outermost=*/true));
      alternatives.push_back(alternative);
    } while (take('|'));
    if (!at_end()) return malformed("an unmatched )");
    tree_.root = add(Kind::kAlternatives, std::move(alternatives));
    return std::move(tree_);
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  char32_t peek() const { return at_end() ? 0 : text_[at_]; }
  bool take(char32_t c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Error malformed(const std::string& what) const {
    return invalid_argument("", what + " at character " + std::to_string(at_ + 1));
  }
  Error unknown(const std::string& what) const { return malformed(what + " is not supported,"); }

  uint32_t add(PatternNode node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
  }
  uint32_t add(Kind kind, std::vector<uint32_t> children) {
    PatternNode node;
    node.kind = kind;
    node.children = std::move(children);
    return add(std::move(node));
  }
  uint32_t add_set(Set set) {
    PatternNode node;
    node.kind = Kind::kSet;
    node.set = normalised(std::move(set));
    return add(std::move(node));
  }
  uint32_t add_repeat(uint32_t child, uint32_t min, uint32_t max) {
    const uint32_t id = add(Kind::kRepeat, {child});
    tree_.nodes[id].min = min;
    tree_.nodes[id].max = max;
    return id;
  }
  uint32_t add_assertion(PatternAssertion assertion) {
    const uint32_t id = add(Kind::kAssertion, {});
    tree_.nodes[id].assertion = assertion;
    return id;
  }

  Result<uint32_t> parse_alternative(bool outermost) {
    std::vector<uint32_t> terms;
    if (outermost && !take('^')) {
      terms.push_back(add_repeat(add_set({{0, kCodePointMax}}), 0, PatternNode::kUnbounded));
    }
    while (!at_end() && peek() != '|' && peek() != ')') {
      ASSIGN_OR_RETURN(const uint32_t term, parse_term());
      terms.push_back(term);
    }
    return add(Kind::kConcatenation, std::move(terms));
  }

  Result<uint32_t> parse_term() {
    ASSIGN_OR_RETURN(const uint32_t term, parse_atom());
    const Kind kind = tree_.nodes[term].kind;
    uint32_t min = 0, max = PatternNode::kUnbounded;
    if (!take_repetition(min, max)) return term;
    if (kind == Kind::kAssertion || kind == Kind::kLookAhead) {
      return malformed("a repetition of nothing");
    }
    take('?');  // "?" changes the order of trying texts, which does not matter
    if (min > kPatternRepeatMax || (max != PatternNode::kUnbounded && max > kPatternRepeatMax)) {
      return malformed("a repetition over the limit of " + std::to_string(kPatternRepeatMax));
    }
    if (min > max) return malformed("a repetition whose limits are in the wrong order");
    uint32_t again_min = 0, again_max = 0;
    if (take_repetition(again_min, again_max)) return malformed("a repetition of a repetition");
    return add_repeat(term, min, max);
  }

  bool take_repetition(uint32_t& min, uint32_t& max) {
    if (take('*')) return true;
    if (take('+')) {
      min = 1;
      return true;
    }
    if (take('?')) {
      max = 1;
      return true;
    }
    return take_braces(min, max);
  }

  std::optional<uint32_t> take_number() {
    uint32_t number = 0;
    const size_t start = at_;
    // The cap keeps large numbers over the limit.
    while (!at_end() && peek() >= '0' && peek() <= '9') {
      number = std::min<uint32_t>(number * 10 + (peek() - '0'), 100'000'000);
      ++at_;
    }
    return at_ == start ? std::nullopt : std::optional(number);
  }

  // {n}, {n,} or {n,m}; a brace that begins anything else is a plain brace.
  bool take_braces(uint32_t& min, uint32_t& max) {
    const size_t start = at_;
    if (take('{')) {
      if (const auto low = take_number()) {
        min = max = *low;
        if (take(',')) max = take_number().value_or(PatternNode::kUnbounded);
        if (take('}')) return true;
      }
    }
    at_ = start;
    return false;
  }

  Result<uint32_t> parse_atom() {
    if (take('(')) return parse_group();
    if (take('[')) return parse_set();
    if (take('.')) return add_set(complement(line_ends()));
    if (take('^')) return add_assertion(PatternAssertion::kBegin);
    if (take('$')) return add_assertion(PatternAssertion::kEnd);
    if (take('\\')) {
      if (take('b')) return add_assertion(PatternAssertion::kWordBorder);
      if (take('B')) return add_assertion(PatternAssertion::kNoWordBorder);
      ASSIGN_OR_RETURN(Set set, parse_escape(/*in_set=*/false));
      return add_set(std::move(set));
    }
    if (peek() == '*' || peek() == '+' || peek() == '?') {
      return malformed("a repetition of nothing");
    }
    const char32_t c = text_[at_++];
    return add_set({{c, c}});
  }

  Result<uint32_t> parse_group() {
    bool ahead = false, negated = false;
    if (take('?')) {
      if (take('<')) {
        if (peek() == '=' || peek() == '!') return unknown("look-behind");
        while (!at_end() && peek() != '>') ++at_;
        if (!take('>')) return malformed("a group's name without an end");
      } else if (!take(':')) {
        negated = take('!');
        ahead = negated || take('=');
        if (!ahead) return unknown("a flag");
      }
    }
    if (++depth_ > kGroupsMax) {
      return malformed("groups nested over the limit of " + std::to_string(kGroupsMax));
    }
    inverted_ = inverted_ != negated;
    std::vector<uint32_t> alternatives;
    do {
      ASSIGN_OR_RETURN(const uint32_t alternative, parse_alternative(/*outermost=*/false));
      alternatives.push_back(alternative);
    } while (take('|'));
    if (!take(')')) return malformed("a group without an end");
    --depth_;
    inverted_ = inverted_ != negated;
    const uint32_t group = add(Kind::kAlternatives, std::move(alternatives));
    if (!ahead) return group;
    const uint32_t look = add(Kind::kLookAhead, {group});
    tree_.nodes[look].negated = negated;
    return look;
  }

  Result<uint32_t> parse_set() {
    const bool negated = take('^');
    const bool outside = std::exchange(inverted_, inverted_ != negated);
    Set set;
    while (!take(']')) {
      if (at_end()) return malformed("a set without an end");
      ASSIGN_OR_RETURN(Set low, parse_set_member());
      const bool single = low.size() == 1 && low[0].low == low[0].high;
      const bool range = peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (range && single) {
        ++at_;
        ASSIGN_OR_RETURN(const Set high, parse_set_member());
        if (high.size() != 1 || high[0].low != high[0].high || high[0].low < low[0].low) {
          return malformed("a range without an order");
        }
        low[0].high = high[0].low;
      }
      set.insert(set.end(), low.begin(), low.end());
    }
    inverted_ = outside;
    return add_set(negated ? complement(set) : std::move(set));
  }

  Result<Set> parse_set_member() {
    if (take('\\')) return parse_escape(/*in_set=*/true);
    const char32_t c = text_[at_++];
    return Set{{c, c}};
  }

  Result<Set> parse_escape(bool in_set) {
    if (at_end()) return malformed("a backslash without a character");
    const char32_t c = text_[at_++];
    if (const auto known = class_of(c)) return *known;
    const auto one = [](uint32_t code) { return Set{{code, code}}; };
    switch (c) {
      case 't': return one('\t');
      case 'n': return one('\n');
      case 'v': return one('\v');
      case 'f': return one('\f');
      case 'r': return one('\r');
      case 'x': return parse_hex(2);
      case 'u': return parse_unicode();
      case 'p': return parse_property(inverted_);
      case 'P': {
        ASSIGN_OR_RETURN(const Set set, parse_property(!inverted_));
        return complement(set);
      }
      case '0':
        if (peek() < '0' || peek() > '9') return one(0);
        break;
      case 'b':
        if (in_set) return one('\b');
        break;
      default: break;
    }
    const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (letter) return unknown("\\" + std::string(1, static_cast<char>(c)));
    return one(c);
  }

  std::optional<uint32_t> take_hex_digit() {
    const char32_t c = peek();
    const bool decimal = c >= '0' && c <= '9';
    const char32_t lower = c | 0x20;
    if (!decimal && (lower < 'a' || lower > 'f')) return std::nullopt;
    ++at_;
    return decimal ? c - '0' : lower - 'a' + 10;
  }

  Result<Set> parse_hex(int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i) {
      const std::optional<uint32_t> digit = take_hex_digit();
      if (!digit) return malformed("not a hexadecimal digit");
      code = code * 16 + *digit;
    }
    return Set{{code, code}};
  }

  // {Name} or {Name=Value}. If `inverted`, the characters with the property will not match.
  Result<Set> parse_property(bool inverted) {
    std::string name;
    if (!take('{')) return malformed("\\p without a name in braces");
    while (!at_end() && peek() < 0x80 && peek() != '}') name += static_cast<char>(text_[at_++]);
    if (!take('}')) return malformed("\\p without a name in braces");
    if (known_names_.insert(name).second) work_ -= std::min(work_, kCharacterPropertyWork);
    const PropertyOf which = inverted ? PropertyOf::kPerhaps : PropertyOf::kSurely;
    auto set = work_ == 0 ? std::nullopt : characters_with(name, which);
    if (!set) return unknown("\\p{" + name.substr(0, 40) + "}");
    return *std::move(set);
  }

  // {HHHHH}, after \u
  Result<Set> parse_braced() {
    uint32_t code = 0;
    const size_t start = at_;
    while (!take('}')) {
      const std::optional<uint32_t> digit = take_hex_digit();
      code = code * 16 + digit.value_or(0);
      if (!digit || code > kCodePointMax) return malformed("not a character's number in \\u{}");
    }
    if (at_ == start + 1) return malformed("not a character's number in \\u{}");
    return Set{{code, code}};
  }

  Result<Set> parse_unicode() {
    if (take('{')) return parse_braced();
    ASSIGN_OR_RETURN(const Set unit, parse_hex(4));
    const uint32_t high = unit[0].low;
    if (high < 0xD800 || high > 0xDFFF) return unit;
    if (high > 0xDBFF || !take('\\') || !take('u')) return malformed("half a surrogate pair");
    ASSIGN_OR_RETURN(const Set second, parse_hex(4));
    const uint32_t low = second[0].low;
    if (low < 0xDC00 || low > 0xDFFF) return malformed("half a surrogate pair");
    const uint32_t code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    return Set{{code, code}};
  }

  const std::u32string text_;
  size_t& work_;
  size_t at_ = 0;
  int depth_ = 0;
  std::set<std::string> known_names_;  // names of properties that were looked up
  bool inverted_ = false;              // while inside a set or a look-ahead that must not match
  PatternTree tree_;
};

}  // namespace

const std::vector<CodePointRange>& word_characters() {
  static const Set set = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}

Result<PatternTree> parse_pattern(std::string_view pattern, size_t& work) {
  if (pattern.size() > kPatternBytesMax) {
    return invalid_argument("", "has " + std::to_string(pattern.size()) + " bytes; the limit is " +
                                    std::to_string(kPatternBytesMax));
  }
  return Parser(to_code_points(pattern), work).parse();
}

}  // namespace cascade
