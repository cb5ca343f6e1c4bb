// Grammars of JSON values.
#include "model/grammar/json_pieces.h"

#include <algorithm>
#include <utility>

#include "base/exact_number.h"
#include "model/calls/call_marks.h"
#include "model/mark_bytes.h"

namespace cascade {

using State = ByteAutomaton::State;

std::string compact(const OrderedJson& value) {
  return dump_exact(value);
}

namespace {

// The largest number of states of strings where only some texts are written. It is enough for
// lengths of up to 950 between tags.
constexpr size_t kTextStatesMax = 30'000;

// All texts, or all characters.
CodePointDfa any_text() {
  return {{{.edges = {{{0, kCodePointMax}, 0}}, .final = true}}};
}
CodePointDfa any_character() {
  return {{{.edges = {{{0, kCodePointMax}, 1}}, .final = false}, {.edges = {}, .final = true}}};
}

// Whether a property's name needs no quotes.
bool is_plain(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.$";
  return !name.empty() && name.find_first_not_of(kPlain) == name.npos;
}

std::string gemma_string(std::string_view text) {
  return mark_bytes(kGemmaStringMark) + std::string(text) + mark_bytes(kGemmaStringMark);
}

std::string gemma_name(const std::string& name) {
  return is_plain(name) ? name : gemma_string(name);
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::string gemma_value(const OrderedJson& value) {
  if (value.is_string()) return gemma_string(value.get_ref<const std::string&>());
  if (!value.is_structured()) return dump_exact(value);
  std::vector<std::pair<std::string, std::string>> members;  // by the name that they are sorted by
  for (const auto& [key, member] : value.items()) {
    const std::string name = value.is_object() ? gemma_name(key) + ":" : "";
    members.emplace_back(value.is_object() ? lower(key) : "", name + gemma_value(member));
  }
  std::ranges::stable_sort(members, {}, &std::pair<std::string, std::string>::first);
  std::string text;
  for (const auto& [key, member] : members) text += (text.empty() ? "" : ",") + member;
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

// A string in Gemma's form.
GrammarNodeId JsonPieces::marked(GrammarNodeId text) {
  const GrammarNodeId mark = builder_.text(mark_bytes(kGemmaStringMark));
  return builder_.sequence({mark, text, mark});
}

// Any text of `dfa`, as a string.
GrammarNodeId JsonPieces::text_node(const CodePointDfa& dfa) {
  const auto [known, added] = strings_.try_emplace(dfa.states, 0);
  if (!added) return known->second;
  const TextForm form = form_ == ValueForm::kJson ? TextForm::kJsonString : TextForm::kPlain;
  const GrammarNodeId text = builder_.terminal(add_texts(builder_.bytes(), dfa, form));
  return known->second = form_ == ValueForm::kGemma ? marked(text) : text;
}

// Any text of `dfa`, which has the demanded texts that may be written, as a string. `is_complete`:
// whether all demanded texts were known.
GrammarNodeId JsonPieces::string_of(const Result<CodePointDfa>& dfa, bool is_complete) {
  const bool has_all = dfa.ok() && !accepts_nothing(*dfa) && (dfa->complete || !is_complete);
  if (has_all) return text_node(*dfa);
  left_out_ = true;
  return builder_.choice({});
}

// Notes whether a listed text, or a name, may not be written.
void JsonPieces::see_written(std::string_view text) {
  if (texts_ && !texts_->accepts(to_code_points(text))) left_out_ = true;
}

std::string JsonPieces::written(const OrderedJson& value) const {
  if (form_ == ValueForm::kText && value.is_string()) return value.get<std::string>();
  return form_ == ValueForm::kGemma ? gemma_value(value) : compact(value);
}

std::string JsonPieces::property_name(const std::string& name) const {
  return form_ == ValueForm::kGemma ? gemma_name(name) : compact(name);
}

GrammarNodeId JsonPieces::string() {
  if (form_ != ValueForm::kJson || texts_) {
    if (!string_) string_ = text_node(texts_ ? *texts_ : any_text());
    return *string_;
  }
  if (!string_) {
    ByteAutomaton& bytes = builder_.bytes();
    const State begin = bytes.add_state(), inside = bytes.add_state();
    const State end = bytes.add_state(/*final=*/true);
    bytes.add_edge(begin, '"', '"', inside);
    bytes.add_edge(inside, '"', '"', end);
    add_json_character(bytes, inside, inside);
    string_ = builder_.terminal(begin);
  }
  return *string_;
}

GrammarNodeId JsonPieces::string(uint32_t min, uint32_t max) {
  if (min == 0 && max == UINT32_MAX) return string();
  if (texts_ || form_ == ValueForm::kText) {
    return string_of(limit_length(texts_ ? *texts_ : any_text(), min, max, kTextStatesMax, work_),
                     /*is_complete=*/true);
  }
  if (form_ == ValueForm::kGemma) {
    if (!character_) {
      character_ =
          builder_.terminal(add_texts(builder_.bytes(), any_character(), TextForm::kPlain));
    }
    return marked(builder_.repeat(*character_, min, max));
  }
  if (!character_) {
    ByteAutomaton& bytes = builder_.bytes();
    const State begin = bytes.add_state(), end = bytes.add_state(/*final=*/true);
    add_json_character(bytes, begin, end);
    character_ = builder_.terminal(begin);
  }
  const GrammarNodeId quote = builder_.text("\"");
  return builder_.sequence({quote, builder_.repeat(*character_, min, max), quote});
}

GrammarNodeId JsonPieces::string(const CodePointDfa& dfa) {
  if (!texts_) return text_node(dfa);
  return string_of(combined(dfa, *texts_, Combination::kBoth, kTextStatesMax, work_), dfa.complete);
}

GrammarNodeId JsonPieces::integer(const NumberRange& range) {
  return number_node(range, /*whole=*/true);
}

GrammarNodeId JsonPieces::number(const NumberRange& range) {
  return number_node(range, /*whole=*/false);
}

GrammarNodeId JsonPieces::number_node(const NumberRange& range, bool whole) {
  std::string key = whole ? "i" : "n";
  for (const std::optional<Decimal>& limit : {range.low, range.high}) {
    if (!limit) {
      key += ",";
      continue;
    }
    key += (limit->exclusive ? ",<" : ",=") + std::string(limit->negative ? "-" : "") +
           limit->whole + "." + limit->fraction;
  }
  if (range.step) {
    key += ",*" + std::to_string(range.step->factor) + "e" + std::to_string(range.step->exponent);
  }
  if (range.no_integers) key += ",.";
  const auto [known, added] = numbers_.try_emplace(key, 0);
  if (added) {
    ByteAutomaton& bytes = builder_.bytes();
    known->second =
        builder_.terminal(whole ? add_integers(bytes, range) : add_numbers(bytes, range));
  }
  return known->second;
}

// Builds a tree of the values' texts.
GrammarNodeId JsonPieces::values(const std::vector<OrderedJson>& values) {
  ByteAutomaton& bytes = builder_.bytes();
  const State root = bytes.add_state();
  std::map<std::pair<State, uint8_t>, State> known;
  for (const OrderedJson& value : values) {
    State at = root;
    const std::string text = written(value);
    if (form_ != ValueForm::kText || value.is_string()) see_written(text);
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      const auto [next, added] = known.try_emplace({at, byte}, 0);
      if (added) {
        next->second = bytes.add_state();
        bytes.add_edge(at, byte, byte, next->second);
      }
      at = next->second;
    }
    if (!bytes.full()) bytes.set_final(at);
  }
  return builder_.terminal(root);
}

// Optional white space, then `bracket`, if there is one.
State JsonPieces::space_before(char bracket) {
  const auto [known, added] = spaces_.try_emplace(bracket, 0);
  if (!added) return known->second;
  ByteAutomaton& bytes = builder_.bytes();
  const bool alone = bracket == 0;
  const State end = bytes.add_state(/*final=*/true);
  if (form_ == ValueForm::kGemma) {
    if (alone) return known->second = end;
    known->second = bytes.add_state();
    bytes.add_edge(known->second, static_cast<uint8_t>(bracket), static_cast<uint8_t>(bracket),
                   end);
    return known->second;
  }
  const auto add = [&] {
    const State state = bytes.add_state(/*final=*/alone);
    const auto byte = static_cast<uint8_t>(bracket);
    if (!alone) bytes.add_edge(state, byte, byte, end);
    return state;
  };
  State indented = add();
  const State behind_one = indented;
  for (int i = 0; i < kIndentMax; ++i) {
    const State before = add();
    bytes.add_edge(before, ' ', ' ', indented);
    indented = before;
  }
  const State begin = add();
  bytes.add_edge(begin, '\n', '\n', indented);
  bytes.add_edge(begin, ' ', ' ', behind_one);
  return known->second = begin;
}

// `text`, then optional white space.
GrammarNodeId JsonPieces::spaced_text(std::string_view text) {
  return builder_.terminal(builder_.bytes().text_before(text, space_before(0)));
}

GrammarNodeId JsonPieces::comma() {
  if (!comma_) comma_ = spaced_text(",");
  return *comma_;
}

GrammarNodeId JsonPieces::close(char bracket) {
  return builder_.terminal(space_before(bracket));
}

GrammarNodeId JsonPieces::any_value() {
  if (!any_value_) {
    any_value_ = builder_.forward();
    builder_.define(*any_value_, builder_.choice({any_object(), any_array(), string(), number({}),
                                                  values({true, false, nullptr})}));
  }
  return *any_value_;
}

GrammarNodeId JsonPieces::any_object() {
  if (!any_object_) {
    any_object_ = builder_.forward();
    builder_.define(*any_object_, object({}, {{string(), any_value()}}));
  }
  return *any_object_;
}

GrammarNodeId JsonPieces::any_array() {
  if (!any_array_) {
    any_array_ = builder_.forward();
    builder_.define(*any_array_, array({}, any_value(), 0, UINT32_MAX));
  }
  return *any_array_;
}

// Goes from the last member to the first. For each number of members so far, as far as that number
// matters, it keeps two nodes: `some` begins with a member, and `behind_value` is what may follow a
// value.
GrammarNodeId JsonPieces::members(std::string_view brackets, const std::vector<Member>& members,
                                  std::optional<GrammarNodeId> other, uint32_t min, uint32_t max) {
  const bool bounded = max < UINT32_MAX && (other || max < members.size());
  const auto counts = static_cast<uint32_t>(std::min<size_t>(bounded ? max : min, members.size()));
  const auto behind_one = [&](uint32_t count) { return std::min(count + 1, counts); };
  const GrammarNodeId nothing = builder_.choice({}), end = close(brackets[1]);
  std::vector<GrammarNodeId> some(counts + 1, nothing), behind_value(counts + 1, nothing);
  bool may_end = true;
  const auto follow = [&](uint32_t count) {
    const GrammarNodeId more = builder_.sequence({comma(), some[count]});
    behind_value[count] = may_end && count >= min ? builder_.choice({more, end}) : more;
  };
  for (uint32_t count = 0; count <= counts && !builder_.full(); ++count) {
    const bool fits = !bounded || count < max;
    if (other && fits && count + 1 >= min) {
      const uint32_t more = bounded ? max - count - 1 : GrammarNode::kUnbounded;
      const GrammarNodeId again = builder_.sequence({comma(), *other});
      some[count] = builder_.sequence({*other, builder_.repeat(again, 0, more), end});
    }
    follow(count);
  }
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    const std::vector<GrammarNodeId> behind_this = behind_value;
    may_end = may_end && !member->required;
    for (uint32_t count = 0; count <= counts && !builder_.full(); ++count) {
      const bool fits = !bounded || count < max;
      const GrammarNodeId this_one =
          fits ? builder_.sequence({member->text, behind_this[behind_one(count)]}) : nothing;
      some[count] = member->required ? this_one : builder_.choice({this_one, some[count]});
      follow(count);
    }
  }
  const GrammarNodeId space = builder_.terminal(space_before(0));
  std::vector<GrammarNodeId> ways = {builder_.sequence({space, some[0]})};
  if (may_end && min == 0) ways.push_back(builder_.text(brackets.substr(1)));
  return builder_.sequence(
      {builder_.text(brackets.substr(0, 1)), builder_.choice(std::move(ways))});
}

GrammarNodeId JsonPieces::object(const std::vector<Property>& properties_in_order,
                                 const std::vector<Others>& others, uint32_t min, uint32_t max) {
  std::vector<Property> properties = properties_in_order;
  if (form_ == ValueForm::kGemma) {
    std::ranges::stable_sort(properties, {}, [](const Property& one) { return lower(one.name); });
  }
  std::vector<Member> all;
  for (const Property& property : properties) {
    see_written(property.name);
    const GrammarNodeId key = spaced_text(property_name(property.name) + ":");
    all.push_back({builder_.sequence({key, property.value}), property.required});
    if (builder_.full()) break;
  }
  std::vector<GrammarNodeId> ways;
  for (const Others& other : others) {
    ways.push_back(builder_.sequence({other.name, spaced_text(":"), other.value}));
  }
  const auto other = ways.empty() ? std::nullopt : std::optional(builder_.choice(std::move(ways)));
  return members("{}", all, other, min, max);
}

GrammarNodeId JsonPieces::array_of_distinct(const std::vector<OrderedJson>& values_in_order,
                                            uint32_t min, uint32_t max) {
  std::vector<Member> all;
  for (const OrderedJson& value : values_in_order) all.push_back({values({value}), false});
  return members("[]", all, std::nullopt, min, max);
}

GrammarNodeId JsonPieces::array(const std::vector<GrammarNodeId>& first,
                                std::optional<GrammarNodeId> rest, uint32_t min, uint32_t max) {
  const auto count = static_cast<uint32_t>(first.size());
  const GrammarNodeId empty = builder_.text("]"), end = close(']');
  const GrammarNodeId space = builder_.terminal(space_before(0));
  if (min > max) return builder_.choice({});
  // What may follow the last value of `first`; if `first` is empty, what may follow the first of
  // `rest`.
  GrammarNodeId behind = end;
  if (rest && max > count && max > 1) {
    // At least one value was read when the repetition begins.
    const uint32_t begun = std::max<uint32_t>(count, 1);
    const uint32_t more_min = min > begun ? min - begun : 0;
    const uint32_t more_max = max == UINT32_MAX ? GrammarNode::kUnbounded : max - begun;
    const GrammarNodeId more = builder_.sequence({comma(), *rest});
    behind = builder_.sequence({builder_.repeat(more, more_min, more_max), end});
  } else if (min > std::max(count, rest && max > 0 ? 1u : 0u)) {
    behind = builder_.choice({});  // fewer values than `min`
  }
  std::optional<GrammarNodeId> begin;
  if (count == 0 && rest && max > 0) begin = builder_.sequence({space, *rest, behind});
  for (uint32_t i = std::min(count, max); i > 0; --i) {
    const GrammarNodeId value = first[i - 1];
    // After `i` values: the end if `i` values are enough, or what follows.
    const bool is_last = i == std::min(count, max);
    if (is_last && i < count) behind = i >= min ? end : builder_.choice({});
    if (!is_last && i >= min) behind = builder_.choice({behind, end});
    if (i == 1) {
      begin = builder_.sequence({space, value, behind});
    } else {
      behind = builder_.sequence({comma(), value, behind});
    }
  }
  std::vector<GrammarNodeId> ways;
  if (begin) ways.push_back(*begin);
  if (min == 0) ways.push_back(empty);
  return builder_.sequence({builder_.text("["), builder_.choice(std::move(ways))});
}

}  // namespace cascade
