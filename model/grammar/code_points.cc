// Operations on automata over code points.
#include "model/grammar/code_points.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/utf8.h"

namespace cascade {

std::u32string to_code_points(std::string_view text) {
  std::u32string all;
  for (size_t at = 0; at < text.size();) {
    const CodePoint next = utf8_decode(text, at);
    all.push_back(next.value);
    at += next.size;
  }
  return all;
}

bool CodePointDfa::accepts(const std::u32string& text) const {
  uint32_t at = 0;
  for (const char32_t c : text) {
    const std::vector<Edge>& edges = states[at].edges;
    const auto edge = std::ranges::find_if(
        edges, [&](const Edge& e) { return e.range.low <= c && c <= e.range.high; });
    if (edge == edges.end()) return false;
    at = edge->target;
  }
  return states[at].final;
}

namespace {

// A tree of texts. `is_text` says for each state whether a text of the tree ends in it.
struct TextTree {
  std::vector<std::map<char32_t, uint32_t>> next = {{}};
  std::vector<bool> is_text = {false};

  explicit TextTree(const std::vector<std::u32string>& texts) {
    for (const std::u32string& text : texts) {
      uint32_t at = 0;
      for (const char32_t c : text) {
        const auto [child, added] = next[at].try_emplace(c, static_cast<uint32_t>(next.size()));
        at = child->second;
        if (!added) continue;
        next.emplace_back();
        is_text.push_back(false);
      }
      is_text[at] = true;
    }
  }
};

}  // namespace

CodePointDfa all_texts_but(const std::vector<std::u32string>& names) {
  const TextTree tree(names);
  const auto off_tree = static_cast<uint32_t>(tree.next.size());
  CodePointDfa dfa;
  dfa.states.resize(tree.next.size() + 1);
  dfa.states[off_tree] = {{{{0, kCodePointMax}, off_tree}}, true};
  for (size_t i = 0; i < tree.next.size(); ++i) {
    CodePointDfa::State& state = dfa.states[i];
    state.final = !tree.is_text[i];
    uint32_t low = 0;
    for (const auto& [c, child] : tree.next[i]) {
      if (c > low) state.edges.push_back({{low, static_cast<uint32_t>(c) - 1}, off_tree});
      state.edges.push_back({{c, c}, child});
      low = static_cast<uint32_t>(c) + 1;
    }
    if (low <= kCodePointMax) state.edges.push_back({{low, kCodePointMax}, off_tree});
  }
  return dfa;
}

CodePointDfa these_texts(const std::vector<std::u32string>& texts) {
  const TextTree tree(texts);
  CodePointDfa dfa;
  dfa.states.resize(tree.next.size());
  for (size_t i = 0; i < tree.next.size(); ++i) {
    dfa.states[i].final = tree.is_text[i];
    for (const auto& [c, child] : tree.next[i]) dfa.states[i].edges.push_back({{c, c}, child});
  }
  return dfa;
}

}  // namespace cascade
