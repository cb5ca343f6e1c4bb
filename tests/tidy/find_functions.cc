// Finds functions and classes by the text before each brace and semicolon.
#include <algorithm>
#include <cctype>
#include <string>

#include "tests/tidy/source_code.h"

namespace cascade::tidy {
namespace {

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

// `head` without template parameter lists: template <class T = int, int n = (a > b)>.
std::string_view skip_template(std::string_view head) {
  head = trim(head);
  while (head.starts_with("template")) {
    size_t at = head.find('<');
    if (at == std::string_view::npos) return head;
    int angles = 0, parens = 0;
    for (; at < head.size(); ++at) {
      if (head[at] == '(') ++parens;
      if (head[at] == ')') --parens;
      if (head[at] == '<' && parens == 0) ++angles;
      if (head[at] == '>' && parens == 0 && --angles == 0) break;
    }
    head = trim(head.substr(std::min(at + 1, head.size())));
  }
  return head;
}

// The text outside brackets. A group in brackets is reduced to "()", "[]" or "{}".
std::string without_groups(std::string_view head) {
  std::string out;
  int depth = 0;
  for (const char c : head) {
    const bool closing = c == ')' || c == ']' || c == '}';
    if (closing && depth > 0) --depth;
    if (depth == 0) out += c;
    if (c == '(' || c == '[' || c == '{') ++depth;
  }
  return out;
}

// The position of the "=" of an assignment or initialiser. "==", "<=" and the names of operators do
// not count.
size_t find_assignment(std::string_view head) {
  for (size_t at = head.find('='); at != std::string_view::npos; at = head.find('=', at + 1)) {
    const char before = at == 0 ? ' ' : head[at - 1];
    const char after = at + 1 == head.size() ? ' ' : head[at + 1];
    const std::string_view left = trim(head.substr(0, at));
    if (after == '=' || std::string_view("=<>!+-*/%&|^").find(before) != std::string_view::npos) {
      continue;
    }
    if (!left.ends_with("operator")) return at;
  }
  return std::string_view::npos;
}

enum class Scope { kNamespace, kClass, kFunction, kInitialiser };

// The head of a class has no bracket before its bases; brackets of attributes and alignas do not
// count.
bool is_class_head(std::string_view outer) {
  for (const std::string_view keyword : {"class", "struct", "union", "enum"}) {
    if (!has_word(outer, keyword)) continue;
    std::string rest(outer);
    for (const std::string_view allowed : {"alignas()", "__attribute__()"}) {
      if (const size_t at = rest.find(allowed); at != std::string::npos) {
        rest.erase(at, allowed.size());
      }
    }
    // A base may have brackets in its name: class X : Y<int()>. The brackets of a function come
    // before any ":".
    const size_t colon = rest.find(" : ");
    return rest.substr(0, colon).find("()") == std::string::npos;
  }
  return false;
}

// In "X::X() : a_(1), b_{2} {" the brace after b_ belongs to the head.
bool is_member_initialiser(std::string_view outer) {
  if (is_class_head(outer)) return false;
  const size_t parameters = outer.find("()");
  if (parameters == std::string_view::npos) return false;
  const std::string_view tail = trim(outer.substr(parameters + 2));
  const size_t colon = tail.find(':');
  if (colon == std::string_view::npos || tail.find("->") < colon) return false;
  if (colon + 1 < tail.size() && tail[colon + 1] == ':') return false;
  return is_word(tail.back()) || tail.back() == '>';
}

// The scope of a brace in the scope `parent`. `outer` is the text before the brace, back to the
// last ";", "{" or "}", without the content of brackets.
Scope scope_of(std::string_view outer, Scope parent) {
  if (parent == Scope::kFunction) return Scope::kFunction;
  const bool call = outer.find("()") != std::string_view::npos;
  if (parent == Scope::kInitialiser) {
    // The brace belongs to an initialiser: of a table of functions, or of anything else.
    const bool lambda =
        outer.find("[]") != std::string_view::npos && (call || outer.ends_with(']'));
    return lambda ? Scope::kFunction : Scope::kInitialiser;
  }
  if (has_word(outer, "namespace") || outer.ends_with("extern")) return Scope::kNamespace;
  const size_t assignment = find_assignment(outer);
  if (assignment != std::string_view::npos) {
    const bool lambda = trim(outer.substr(assignment + 1)).starts_with('[');
    return lambda ? Scope::kFunction : Scope::kInitialiser;
  }
  if (is_class_head(outer)) return Scope::kClass;
  return call ? Scope::kFunction : Scope::kInitialiser;
}

// Turns "a<b<int()>> c" into "a c".
std::string without_angles(std::string_view head) {
  std::string out;
  int depth = 0;
  for (const char c : head) {
    if (c == '<') ++depth;
    if (depth == 0) out += c;
    if (c == '>' && depth > 0) --depth;
  }
  return out;
}

// The last word before the bases: "class [[nodiscard]] A final : B" gives "A".
std::string class_name(std::string_view outer) {
  const std::string plain = without_angles(outer.substr(0, outer.find(" : ")));
  std::string_view head = trim(plain);
  if (head.ends_with("final")) head = trim(head.substr(0, head.size() - 5));
  size_t begin = head.size();
  while (begin > 0 && is_word(head[begin - 1])) --begin;
  return std::string(head.substr(begin));
}

bool begins_with_word(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) {
    return text.starts_with(word) && (text.size() == word.size() || !is_word(text[word.size()]));
  });
}

// Counts a member, given its text up to the semicolon or the brace.
void count_member(std::string_view text, Class& owner) {
  const std::string groups = without_groups(skip_template(text));
  const std::string_view outer = trim(groups);
  if (outer.empty()) return;
  const bool is_nested = begins_with_word(outer, {"class", "struct", "union", "enum"}) &&
                         outer.find(' ') == outer.rfind(' ');  // class A;
  if (is_nested || begins_with_word(outer, {"using", "typedef", "friend", "static_assert"})) return;
  if (has_word(outer, "operator")) {
    ++owner.functions;
    return;
  }
  const std::string plain = without_angles(outer);
  if (plain.substr(0, find_assignment(plain)).find("()") != std::string::npos) {
    ++owner.functions;
    return;
  }
  const bool is_constant =
      has_word(outer, "constexpr") || (has_word(outer, "static") && has_word(outer, "const"));
  if (!is_constant) owner.fields += 1 + static_cast<int>(std::ranges::count(plain, ','));
}

class Scanner {
 public:
  explicit Scanner(std::string_view code) : code_(code) {}

  void run() {
    for (size_t at = 0; at < code_.size(); ++at) {
      const char c = code_[at];
      if (c == '(' || c == '[') ++brackets_;
      if (c == ')' || c == ']') --brackets_;
      if (c == '{') open(at);
      if (c == '}') close(at);
      if (c == ';' && brackets_ == 0) end_statement(at);
      if (c == ':' && ends_access_label(at)) head_ = at + 1;
    }
  }
  std::vector<Function> take_functions() { return std::move(functions_); }
  std::vector<Class> take_classes() { return std::move(classes_); }

 private:
  struct Brace {
    Scope scope;
    bool in_head;  // the text before the brace goes on after its closing brace
    size_t head;   // where that text begins
    int brackets;  // how many brackets were open in that text
    Class members = {};
  };

  bool ends_access_label(size_t at) const {
    const std::string_view head = trim(code_.substr(head_, at - head_));
    return head == "public" || head == "protected" || head == "private";
  }

  void open(size_t at) {
    const std::string groups = without_groups(skip_template(code_.substr(head_, at - head_)));
    const std::string_view outer = trim(groups);
    const Scope parent = braces_.empty() ? Scope::kNamespace : braces_.back().scope;
    Brace brace = {Scope::kInitialiser, false, head_, brackets_};
    brace.in_head = parent != Scope::kFunction && (brackets_ > 0 || is_member_initialiser(outer));
    if (!brace.in_head) brace.scope = scope_of(outer, parent);
    if (brace.scope == Scope::kFunction) ++function_depth_;
    if (brace.scope == Scope::kClass) brace.members.name = name_within(class_name(outer));
    const bool is_member = brace.scope == Scope::kFunction || brace.scope == Scope::kInitialiser;
    if (is_member && !brace.in_head) count_in_class(head_, at);
    braces_.push_back(std::move(brace));
    head_ = at + 1;
    brackets_ = 0;
  }

  std::string name_within(const std::string& name) const {
    const bool inner = !braces_.empty() && braces_.back().scope == Scope::kClass;
    return inner ? braces_.back().members.name + "::" + name : name;
  }

  void count_in_class(size_t begin, size_t end) {
    if (braces_.empty() || braces_.back().scope != Scope::kClass) return;
    count_member(code_.substr(begin, end - begin), braces_.back().members);
  }

  void end_statement(size_t at) {
    count_in_class(head_, at);
    head_ = at + 1;
  }

  void close(size_t at) {
    if (braces_.empty()) return;
    Brace brace = std::move(braces_.back());
    braces_.pop_back();
    brackets_ = brace.brackets;
    head_ = brace.in_head ? brace.head : at + 1;
    size_t begin = brace.head;
    while (is_space(code_[begin])) ++begin;
    const int first = line_at(code_, begin);
    if (brace.scope == Scope::kClass && !is_enum(code_.substr(begin))) {
      brace.members.line = first;
      brace.members.is_struct = begins_with_word(skip_template(code_.substr(begin)), {"struct"});
      classes_.push_back(std::move(brace.members));
    }
    if (brace.scope != Scope::kFunction || --function_depth_ > 0) return;
    functions_.push_back({first, line_at(code_, at) - first + 1});
  }

  static bool is_enum(std::string_view code) { return begins_with_word(code, {"enum", "union"}); }

  const std::string_view code_;
  std::vector<Function> functions_;
  std::vector<Class> classes_;
  std::vector<Brace> braces_;
  size_t head_ = 0;   // where the text before the next brace begins
  int brackets_ = 0;  // open round and square brackets in that text
  int function_depth_ = 0;
};

}  // namespace

std::vector<Function> find_functions(std::string_view source) {
  const std::string code = blank_directives(blank_comments_and_literals(source));
  Scanner scanner(code);
  scanner.run();
  return scanner.take_functions();
}

std::vector<Class> find_classes(std::string_view source) {
  const std::string code = blank_directives(blank_comments_and_literals(source));
  Scanner scanner(code);
  scanner.run();
  return scanner.take_classes();
}

}  // namespace cascade::tidy
