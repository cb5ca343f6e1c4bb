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
  bool operator==(const CodePointRange&) const = default;
};

inline constexpr uint32_t kCodePointMax = 0x10FFFF;

// It starts in state 0. Edges of a state are sorted and do not overlap.
struct CodePointDfa {
  struct Edge {
    CodePointRange range;
    uint32_t target = 0;
  };
  struct State {
    std::vector<Edge> edges;
    bool final = false;
  };
  std::vector<State> states;

  bool accepts(const std::u32string& text) const;
};

// All texts but `names`.
CodePointDfa all_texts_but(const std::vector<std::u32string>& names);

// What `dfa` accepts, of at least `min` and at most `max` code points (UINT32_MAX: any number).
// Errors: kInvalidArgument, without a field, if that takes over `states_max` states.
Result<CodePointDfa> limit_length(const CodePointDfa& dfa, uint32_t min, uint32_t max,
                                  size_t states_max);

// As UTF-8. Surrogates, which UTF-8 has not, are left out.
// kJsonString: as JSON strings, quotes included, each text in one form: as it is, but for quotes,
// backslashes and control characters, with the short escapes where there are some.
enum class TextForm { kPlain, kJsonString };
ByteAutomaton::State add_texts(ByteAutomaton& bytes, const CodePointDfa& dfa, TextForm form);

// Adds edges for one code point of a JSON string in any form that JSON has (escaped surrogates come
// in pairs) from `from` to `to`.
void add_json_character(ByteAutomaton& bytes, ByteAutomaton::State from, ByteAutomaton::State to);

// Malformed UTF-8 becomes U+FFFD.
std::u32string to_code_points(std::string_view text);

}  // namespace cascade
