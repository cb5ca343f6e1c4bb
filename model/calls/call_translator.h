// Calls in a model's own form become calls in the form that all calls get.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tool_types.h"
#include "model/calls/call_end.h"
#include "model/calls/call_marks.h"

namespace cascade {

// Changes the calls in an answer that comes in pieces. One answer, one thread.
class CallTranslator {
 public:
  // The form of `marks` is not kJson.
  CallTranslator(CallMarks marks, ToolTypes types)
      : marks_(std::move(marks)), types_(std::move(types)) {}

  // How a token that is a mark is to be spelled for push(); empty if it is none.
  std::string_view mark_of(int32_t token) const { return marks_.text_of(token); }
  // Whether this mark begins a call.
  bool opens_call(std::string_view mark) const { return mark == marks_.open; }

  struct Piece {
    std::string text;
    bool is_call = false;  // else the model's own text
  };
  // Takes more of the answer and returns what has become certain. Calls begin on lines of their
  // own.
  std::vector<Piece> push(std::string_view text);
  // Returns what was held back. `ended`: the answer ended by itself, so a call whose last marks are
  // missing is complete. Otherwise it becomes the beginning of a call.
  std::vector<Piece> finish(bool ended);
  size_t held_bytes() const { return held_.size(); }

 private:
  bool take_text(std::vector<Piece>& pieces);
  bool take_call(std::vector<Piece>& pieces);
  std::string finish_call(bool ended, std::vector<Piece>& pieces);
  void give_call(std::string_view body, std::string_view as_written, std::vector<Piece>& pieces);
  void give_text(std::string_view text, std::vector<Piece>& pieces);

  const CallMarks marks_;
  const ToolTypes types_;
  std::string held_;                       // begins with a call, or with what may become one
  std::optional<CallEnd> end_;             // of the call; nullopt: held_ does not begin with one
  size_t body_ = 0;                        // where the call's body begins
  bool may_be_bare_ = marks_.may_be_bare;  // whether a call without a mark may come next
  bool after_call_ = false;                // whether nothing came after the last call
  bool at_line_begin_ = true;              // where what was given out ends
};

}  // namespace cascade
