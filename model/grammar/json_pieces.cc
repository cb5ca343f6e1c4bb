// Grammars of JSON values.
#include "model/grammar/json_pieces.h"

#include <utility>

namespace cascade {

using State = ByteAutomaton::State;

std::string compact(const OrderedJson& value) {
  return value.dump();
}

GrammarNodeId JsonPieces::string() {
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
  return builder_.terminal(add_texts(builder_.bytes(), dfa, TextForm::kJsonString));
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
  const auto [known, added] = numbers_.try_emplace(key, 0);
  if (added) {
    ByteAutomaton& bytes = builder_.bytes();
    known->second =
        builder_.terminal(whole ? add_integers(bytes, range) : add_numbers(bytes, range));
  }
  return known->second;
}

// A tree of their texts.
GrammarNodeId JsonPieces::values(const std::vector<OrderedJson>& values) {
  ByteAutomaton& bytes = builder_.bytes();
  const State root = bytes.add_state();
  std::map<std::pair<State, uint8_t>, State> known;
  for (const OrderedJson& value : values) {
    State at = root;
    for (const char c : compact(value)) {
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
    builder_.define(*any_object_, object({}, any_value()));
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

// Their names in the one form of code_points.h, so that no escape spells a declared one.
GrammarNodeId JsonPieces::extra_property(const std::vector<Property>& declared,
                                         GrammarNodeId value) {
  std::vector<std::u32string> names;
  for (const Property& property : declared) names.push_back(to_code_points(property.name));
  const GrammarNodeId name = names.empty() ? string() : string(all_texts_but(names));
  return builder_.sequence({name, spaced_text(":"), value});
}

// From the last property to the first: what may follow a value, and what begins with a name.
GrammarNodeId JsonPieces::object(const std::vector<Property>& properties,
                                 std::optional<GrammarNodeId> extra) {
  GrammarNodeId behind_value = close('}'), some = builder_.choice({});
  bool may_end = true;
  if (extra) {
    const GrammarNodeId property = extra_property(properties, *extra);
    const GrammarNodeId others =
        builder_.repeat(builder_.sequence({comma(), property}), 0, GrammarNode::kUnbounded);
    behind_value = builder_.sequence({others, behind_value});
    some = builder_.sequence({property, behind_value});
  }
  const GrammarNodeId end = close('}');
  for (auto property = properties.rbegin(); property != properties.rend(); ++property) {
    const GrammarNodeId key = spaced_text(compact(property->name) + ":");
    const GrammarNodeId this_one = builder_.sequence({key, property->value, behind_value});
    some = property->required ? this_one : builder_.choice({this_one, some});
    may_end = may_end && !property->required;
    const GrammarNodeId more = builder_.sequence({comma(), some});
    behind_value = may_end ? builder_.choice({more, end}) : more;
    if (builder_.full()) break;
  }
  const GrammarNodeId space = builder_.terminal(space_before(0));
  std::vector<GrammarNodeId> ways = {builder_.sequence({space, some})};
  if (may_end) ways.push_back(builder_.text("}"));
  return builder_.sequence({builder_.text("{"), builder_.choice(std::move(ways))});
}

GrammarNodeId JsonPieces::array(const std::vector<GrammarNodeId>& first,
                                std::optional<GrammarNodeId> rest, uint32_t min, uint32_t max) {
  const auto count = static_cast<uint32_t>(first.size());
  const GrammarNodeId empty = builder_.text("]"), end = close(']');
  const GrammarNodeId space = builder_.terminal(space_before(0));
  if (min > max) return builder_.choice({});
  // Behind so many values, the last of them there.
  GrammarNodeId behind = end;
  if (rest && max > count && max > 1) {
    // At least one value is behind us when the repetition begins.
    const uint32_t begun = std::max<uint32_t>(count, 1);
    const uint32_t more_min = min > begun ? min - begun : 0;
    const uint32_t more_max = max == UINT32_MAX ? GrammarNode::kUnbounded : max - begun;
    const GrammarNodeId more = builder_.sequence({comma(), *rest});
    behind = builder_.sequence({builder_.repeat(more, more_min, more_max), end});
  } else if (min > std::max(count, rest && max > 0 ? 1u : 0u)) {
    behind = builder_.choice({});  // too few
  }
  std::optional<GrammarNodeId> begin;
  if (count == 0 && rest && max > 0) begin = builder_.sequence({space, *rest, behind});
  for (uint32_t i = std::min(count, max); i > 0; --i) {
    const GrammarNodeId value = first[i - 1];
    // Behind `i` values: the end if that is enough, or what follows.
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
