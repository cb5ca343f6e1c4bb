// Deterministic automata over code points, and their form over bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/grammar/byte_automaton.h"

namespace cascade {

struct CodePointRange {
  uint32_t low = 0;
  uint32_t high = 0;
  auto operator<=>(const CodePointRange&) const = default;
};

inline constexpr uint32_t kCodePointMax = 0x10FFFF;

// The automaton starts in state 0. Edges of a state are sorted and do not overlap.
struct CodePointDfa {
  struct Edge {
    CodePointRange range;
    uint32_t target = 0;
    auto operator<=>(const Edge&) const = default;
  };
  struct State {
    std::vector<Edge> edges;
    bool final = false;
    auto operator<=>(const State&) const = default;
  };
  std::vector<State> states;
  // Whether the automaton accepts every text that it should. If the states ran out, it does not
  // accept the longer texts: each text that it accepts is right, but one that it refuses may be
  // right, too.
  bool complete = true;

  bool accepts(const std::u32string& text) const;
};

// All texts except `names`.
CodePointDfa all_texts_but(const std::vector<std::u32string>& names);
CodePointDfa these_texts(const std::vector<std::u32string>& texts);

// `dfa` without the states that cannot be reached, or from which no final state can be reached. The
// first state always stays.
CodePointDfa trimmed(const CodePointDfa& dfa);
// Whether a trimmed automaton accepts nothing.
inline bool accepts_nothing(const CodePointDfa& dfa) {
  return !dfa.states[0].final && dfa.states[0].edges.empty();
}

// The texts that both automata accept (kBoth), that at least one accepts (kEither), or that the
// first accepts and the second does not (kFirstAlone). If all of them would take over `states_max`
// states, the result has only the shorter ones. It is trimmed. The work done is subtracted from
// `work`, as in compile_pattern(). Errors: kInvalidArgument, without a field, if `states_max`
// leaves no text, or all of `work` is used up. Precondition of kFirstAlone: b.complete.
enum class Combination { kBoth, kEither, kFirstAlone };
Result<CodePointDfa> combined(const CodePointDfa& a, const CodePointDfa& b, Combination how,
                              size_t states_max, size_t& work);

// The texts that `dfa` accepts and that have at least `min` and at most `max` code points
// (UINT32_MAX: any number). If all of them would take over `states_max` states, the result has only
// the shorter ones. Otherwise as combined().
Result<CodePointDfa> limit_length(const CodePointDfa& dfa, uint32_t min, uint32_t max,
                                  size_t states_max, size_t& work);

// kPlain: as UTF-8. Surrogates, which UTF-8 does not have, are left out. kJsonString: as JSON
// strings, quotes included, each text in one form. Characters stand for themselves, except quotes,
// backslashes and control characters, which are escaped: with the short escape if there is one.
enum class TextForm { kPlain, kJsonString };
ByteAutomaton::State add_texts(ByteAutomaton& bytes, const CodePointDfa& dfa, TextForm form);

// Adds edges for one code point of a JSON string in any form that JSON has (escaped surrogates come
// in pairs) from `from` to `to`.
void add_json_character(ByteAutomaton& bytes, ByteAutomaton::State from, ByteAutomaton::State to);

// Malformed UTF-8 becomes U+FFFD.
std::u32string to_code_points(std::string_view text);

}  // namespace cascade
