// The parts of JSON that grammars of JSON values are put together from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/grammar/code_points.h"
#include "model/grammar/grammar.h"
#include "model/grammar/numbers.h"

namespace cascade {

// Where JSON allows white space, the grammar allows nothing, one space, or one line end and at most
// 16 spaces; and only after { [ , : and before } ]. So white space cannot go on for ever.
inline constexpr int kIndentMax = 16;

// How values are written.
enum class ValueForm {
  kJson,
  // As Gemma 4 writes arguments: strings without escapes between marks, names of properties mostly
  // without quotes and in alphabetical order, no white space (model/calls/relaxed_body.h).
  kGemma,
  // Strings as they are, without quotes and escapes. Only for schemas that allow strings and null
  // alone.
  kText,
};

// Each part is made when it is first asked for. Belongs to one builder.
class JsonPieces {
 public:
  // With `texts`, only strings and names of properties that it accepts are written. It may not be
  // set for kGemma.
  explicit JsonPieces(GrammarBuilder& builder, ValueForm form = ValueForm::kJson,
                      std::optional<CodePointDfa> texts = std::nullopt)
      : builder_(builder), form_(form), texts_(std::move(texts)) {}

  // Whether some part that was asked for since the last call lacks a listed string, a name, or most
  // strings of a length: `texts` does not accept them, or too many states would tell them apart.
  bool take_left_out() { return std::exchange(left_out_, false); }

  GrammarNodeId string();
  // A string of at least `min` and at most `max` code points (UINT32_MAX: any number).
  GrammarNodeId string(uint32_t min, uint32_t max);
  // The texts that the automaton accepts, as JSON strings in the form of code_points.h.
  GrammarNodeId string(const CodePointDfa& dfa);
  GrammarNodeId integer(const NumberRange& range);
  GrammarNodeId number(const NumberRange& range);
  // Exactly these values, written without white space.
  GrammarNodeId values(const std::vector<OrderedJson>& values);
  GrammarNodeId any_value();
  GrammarNodeId any_object();
  GrammarNodeId any_array();

  struct Property {
    std::string name;
    GrammarNodeId value = 0;
    bool required = false;
  };
  // Properties whose names are the texts of `name`.
  struct Others {
    GrammarNodeId name = 0;
    GrammarNodeId value = 0;
  };
  // An object of these properties in this order, followed by any of `others`. It has at least `min`
  // properties with different names, and at most `max` properties (UINT32_MAX: any number). Others
  // may have the same name, so all of them together count as one towards `min`.
  GrammarNodeId object(const std::vector<Property>& properties, const std::vector<Others>& others,
                       uint32_t min = 0, uint32_t max = UINT32_MAX);
  // An array of at least `min` and at most `max` values: first those of `first`, then values of
  // `rest`.
  GrammarNodeId array(const std::vector<GrammarNodeId>& first, std::optional<GrammarNodeId> rest,
                      uint32_t min, uint32_t max);
  // An array of at least `min` and at most `max` of these values, each at most once, in this order.
  GrammarNodeId array_of_distinct(const std::vector<OrderedJson>& values, uint32_t min,
                                  uint32_t max);

 private:
  struct Member {
    GrammarNodeId text = 0;
    bool required = false;
  };
  GrammarNodeId marked(GrammarNodeId text);
  GrammarNodeId text_node(const CodePointDfa& dfa);
  GrammarNodeId string_of(const Result<CodePointDfa>& dfa, bool is_complete);
  void see_written(std::string_view text);
  std::string written(const OrderedJson& value) const;
  std::string property_name(const std::string& name) const;
  ByteAutomaton::State space_before(char bracket);
  GrammarNodeId spaced_text(std::string_view text);
  GrammarNodeId comma();
  GrammarNodeId close(char bracket);
  GrammarNodeId number_node(const NumberRange& range, bool whole);
  GrammarNodeId members(std::string_view brackets, const std::vector<Member>& members,
                        std::optional<GrammarNodeId> other, uint32_t min, uint32_t max);

  GrammarBuilder& builder_;
  const ValueForm form_;
  const std::optional<CodePointDfa> texts_;
  size_t work_ = 5'000'000;  // left to apply texts_: a quarter of a grammar's (kGrammarWorkMax)
  bool left_out_ = false;
  std::map<char, ByteAutomaton::State> spaces_;
  std::map<std::string, GrammarNodeId> numbers_;  // the key is their limits
  std::map<std::vector<CodePointDfa::State>, GrammarNodeId> strings_;
  std::optional<GrammarNodeId> string_, character_, comma_, any_value_, any_object_, any_array_;
};

// `value` as JSON without white space.
std::string compact(const OrderedJson& value);

}  // namespace cascade
