// Where a call ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "model/calls/call_marks.h"

namespace cascade {

// Finds the end of a call in a text that grows, and looks at each byte once. A mark that is a
// special token always ends the call. A mark that is text ends it outside of values only, which may
// have any text. A call without such a mark ends with the bracket that its first bracket needs. One
// call, one thread.
class CallEnd {
 public:
  // `body`: where the text after the opening mark begins.
  explicit CallEnd(size_t body) : at_(body) {}

  struct Found {
    size_t body;  // where the body ends
    size_t call;  // where the call, with its closing mark, ends
  };
  // `text` is the call so far: that of the previous time, and perhaps more after it. `marks` are
  // the same each time. nullopt if the end has not come.
  std::optional<Found> find(std::string_view text, const CallMarks& marks);

 private:
  enum class Seen { kNothing, kEnd, kHalf };
  bool looks_for_tags(std::string_view text);
  std::optional<Found> find_after_values(std::string_view text, std::string_view close);
  std::optional<Found> find_mark_or_bracket(std::string_view text, const CallMarks& marks);
  Seen see_mark(std::string_view rest, const CallMarks& marks, Found& found) const;
  bool see_bracket(char byte);
  bool is_quote(char byte, const CallMarks& marks) const;

  size_t at_;  // the bytes before it were looked at
  // The first byte of the body that is not blank; nullopt: not known.
  std::optional<char> begin_;
  bool in_value_ = false;  // whether the tag of a value is open
  char quote_ = 0;         // of the string that is open; 0: none
  int depth_ = 0;          // of brackets
  char first_ = 0;         // the first bracket
};

}  // namespace cascade
