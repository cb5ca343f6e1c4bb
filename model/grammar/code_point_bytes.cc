// Automata over code points, written as automata over the bytes of UTF-8 and of JSON strings.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "model/grammar/code_points.h"

namespace cascade {
namespace {

using State = ByteAutomaton::State;

struct Piece {
  uint32_t low;
  uint32_t high;
  State target;
  auto operator<=>(const Piece&) const = default;
};

std::vector<Piece> clipped(const std::vector<Piece>& pieces, uint32_t low, uint32_t high) {
  std::vector<Piece> part;
  for (const Piece& piece : pieces) {
    if (piece.high < low || piece.low > high) continue;
    part.push_back({std::max(piece.low, low), std::min(piece.high, high), piece.target});
  }
  return part;
}

// The short escape of a character, 0 if there is none.
char short_escape(uint32_t c) {
  switch (c) {
    case '"': return '"';
    case '\\': return '\\';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
  }
}

class Writer {
 public:
  explicit Writer(ByteAutomaton& bytes) : bytes_(bytes) {}

  void add(State from, const std::vector<Piece>& pieces, TextForm form) {
    form == TextForm::kJsonString ? add_json_ascii(from, pieces) : add_plain_ascii(from, pieces);
    add_part(from, clipped(pieces, 0x80, 0x7FF), 6, 0xC0);
    std::vector<Piece> three = clipped(pieces, 0x800, 0xD7FF);
    const std::vector<Piece> behind_surrogates = clipped(pieces, 0xE000, 0xFFFF);
    three.insert(three.end(), behind_surrogates.begin(), behind_surrogates.end());
    add_part(from, three, 12, 0xE0);
    add_part(from, clipped(pieces, 0x10000, kCodePointMax), 18, 0xF0);
  }

 private:
  void add_plain_ascii(State from, const std::vector<Piece>& pieces) {
    for (const Piece& piece : clipped(pieces, 0, 0x7F)) {
      bytes_.add_edge(from, static_cast<uint8_t>(piece.low), static_cast<uint8_t>(piece.high),
                      piece.target);
    }
  }

  void add_json_ascii(State from, const std::vector<Piece>& pieces) {
    for (const auto& [low, high] : {CodePointRange{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7F}}) {
      add_plain_ascii(from, clipped(pieces, low, high));
    }
    std::vector<Piece> escaped = clipped(pieces, 0, 0x1F);
    for (const uint32_t c : {'"', '\\'}) {
      for (const Piece& piece : clipped(pieces, c, c)) escaped.push_back(piece);
    }
    if (!escaped.empty()) bytes_.add_edge(from, '\\', '\\', behind_backslash(escaped));
  }

  // The state that reads what follows the backslash in the escapes of the characters in `escaped`.
  // Equal `escaped` share one state.
  State behind_backslash(const std::vector<Piece>& escaped) {
    const auto [known, added] = escapes_.try_emplace(escaped, 0);
    if (!added) return known->second;
    const State backslash = bytes_.add_state();
    known->second = backslash;
    for (const Piece& piece : escaped) {
      for (uint32_t c = piece.low; c <= piece.high; ++c) add_escape(backslash, c, piece.target);
    }
    return backslash;
  }

  void add_escape(State backslash, uint32_t c, State target) {
    std::string rest;
    if (const char escape = short_escape(c)) {
      rest = {escape};
    } else {
      rest = {'u', '0', '0', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
    }
    const State last = bytes_.text_before(rest.substr(1), target);
    bytes_.add_edge(backslash, static_cast<uint8_t>(rest[0]), static_cast<uint8_t>(rest[0]), last);
  }

  // Adds the edges of `from` for `pieces`. Of their numbers, the next byte holds the bits above the
  // lowest `bits`, together with `mark`; continuation bytes hold the lower bits, six each.
  void add_part(State from, const std::vector<Piece>& pieces, int bits, uint32_t mark) {
    if (pieces.empty()) return;
    std::optional<ByteAutomaton::Edge> edge;
    const auto flush = [&] {
      if (edge) bytes_.add_edge(from, edge->low, edge->high, edge->target);
      edge.reset();
    };
    const uint32_t first = pieces.front().low >> bits, last = pieces.back().high >> bits;
    for (uint32_t index = first; index <= last; ++index) {
      const uint32_t low = index << bits;
      std::vector<Piece> inner = clipped(pieces, low, low + (1u << bits) - 1);
      if (inner.empty()) {
        flush();
        continue;
      }
      for (Piece& piece : inner) {
        piece.low -= low;
        piece.high -= low;
      }
      const State target = behind(inner, bits);
      const auto byte = static_cast<uint8_t>(mark | index);
      if (edge && edge->target == target) {
        edge->high = byte;
      } else {
        flush();
        edge = {byte, byte, target};
      }
    }
    flush();
  }

  // The state that reads the next `bits` bits. Equal pieces share one state.
  State behind(const std::vector<Piece>& pieces, int bits) {
    if (bits == 0) return pieces.front().target;
    const auto [known, added] = known_.try_emplace({bits, pieces}, 0);
    if (!added) return known->second;
    const State state = bytes_.add_state();
    known->second = state;
    add_part(state, pieces, bits - 6, 0x80);
    return state;
  }

  ByteAutomaton& bytes_;
  std::map<std::pair<int, std::vector<Piece>>, State> known_;
  std::map<std::vector<Piece>, State> escapes_;
};

}  // namespace

ByteAutomaton::State add_texts(ByteAutomaton& bytes, const CodePointDfa& dfa, TextForm form) {
  const bool json = form == TextForm::kJsonString;
  std::vector<State> states;
  for (const CodePointDfa::State& state : dfa.states) {
    states.push_back(bytes.add_state(!json && state.final));
  }
  const State after_quote = json ? bytes.add_state(/*final=*/true) : 0;
  Writer writer(bytes);
  for (size_t i = 0; i < states.size() && !bytes.full(); ++i) {
    std::vector<Piece> pieces;
    for (const CodePointDfa::Edge& edge : dfa.states[i].edges) {
      pieces.push_back({edge.range.low, edge.range.high, states[edge.target]});
    }
    writer.add(states[i], pieces, form);
    if (json && dfa.states[i].final) bytes.add_edge(states[i], '"', '"', after_quote);
  }
  return json ? bytes.text_before("\"", states[0]) : states[0];
}

void add_json_character(ByteAutomaton& bytes, State from, State to) {
  const auto hex_edge = [&](State state, char low, char high, State target) {
    for (char c = low; c <= high; c = c == '9' ? 'A' : static_cast<char>(c + 1)) {
      bytes.add_edge(state, static_cast<uint8_t>(c), static_cast<uint8_t>(c), target);
      if (c < 'A') continue;
      const auto lower = static_cast<uint8_t>(c - 'A' + 'a');
      bytes.add_edge(state, lower, lower, target);
    }
  };
  const auto hex_digits = [&](int count, State target) {
    for (; count > 0; --count) {
      const State state = bytes.add_state();
      hex_edge(state, '0', 'F', target);
      target = state;
    }
    return target;
  };
  const auto one = [&](State state, char c, State target) {
    bytes.add_edge(state, static_cast<uint8_t>(c), static_cast<uint8_t>(c), target);
  };
  Writer writer(bytes);
  writer.add(from, {{0x20, 0x21, to}, {0x23, 0x5B, to}, {0x5D, kCodePointMax, to}},
             TextForm::kPlain);
  const State backslash = bytes.add_state();
  one(from, '\\', backslash);
  for (const char c : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'}) one(backslash, c, to);
  const State escape = bytes.add_state();
  one(backslash, 'u', escape);
  const State three = hex_digits(3, to);
  hex_edge(escape, '0', 'C', three);
  hex_edge(escape, 'E', 'F', three);
  // D000 to D7FF, and pairs of D800..DBFF and DC00..DFFF.
  const State d = bytes.add_state();
  hex_edge(escape, 'D', 'D', d);
  hex_edge(d, '0', '7', hex_digits(2, to));
  const State low_d = bytes.add_state();
  const State low_second = bytes.add_state();
  hex_edge(low_d, 'D', 'D', low_second);
  hex_edge(low_second, 'C', 'F', hex_digits(2, to));
  const State high_second = hex_digits(2, bytes.text_before("\\u", low_d));
  hex_edge(d, '8', 'B', high_second);
}

}  // namespace cascade
