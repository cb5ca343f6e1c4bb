// Calls whose arguments are between tags, without the quotes of JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tool_types.h"
#include "model/call_form.h"

namespace cascade {

// The JSON, {"name":…,"arguments":…}, of the calls that a model wrote between the marks of a call:
// mostly one. None if it wrote no call in this form: a call of GLM without arguments must be that
// of a known function. Missing closing tags are tolerated. A closing tag ends a value if another
// tag, or nothing, follows it. One line end on each side of a value of Qwen is not part of the
// value.
std::vector<std::string> read_tagged_calls(CallForm form, std::string_view body,
                                           const ToolTypes& types);

// {"name": NAME, "arguments": , the text that the JSON of a call begins with.
std::string call_begin(const std::string& name);

// Changes the calls in an answer that comes in pieces to the form that all calls get. One answer,
// one thread.
class TaggedCalls {
 public:
  // `form` is not kJson.
  TaggedCalls(CallForm form, ToolTypes types) : form_(form), types_(std::move(types)) {}

  struct Piece {
    std::string text;
    bool is_call = false;  // else the model's own text
  };
  // Takes more of the answer and returns what has become certain.
  std::vector<Piece> push(std::string_view text);
  // Returns what was held back. `ended`: the answer ended by itself, so a call whose last marks are
  // missing is complete. Otherwise it becomes the beginning of a call.
  std::vector<Piece> finish(bool ended);
  size_t held_bytes() const { return held_.size(); }

 private:
  void take_text(std::vector<Piece>& pieces);
  bool take_call(std::vector<Piece>& pieces);
  void give_call(std::string_view body, std::string_view as_written, std::vector<Piece>& pieces);

  const CallForm form_;
  const ToolTypes types_;
  std::string held_;  // begins with a call's mark, or with what may become one
  bool in_call_ = false;
  bool in_value_ = false;  // whether the tag of a value is open at looked_at_
  size_t looked_at_ = 0;   // in held_, while in a call
};

}  // namespace cascade
