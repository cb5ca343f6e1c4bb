// The calls that a model writes into its answer: <tool_call>{"name":…,"arguments":…}</tool_call>,
// as the chat templates of Qwen and Hermes ask for. Calls that a model writes in another form
// become this one before they are in an answer (model/output_stream.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/tool_call_text.h"

namespace cascade {

// The marks around a call.
inline constexpr std::string_view kToolCallOpen = "<tool_call>";
inline constexpr std::string_view kToolCallClose = "</tool_call>";

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text, as the model wrote it
};

// A part of an answer: text, or a whole call.
struct AnswerPart {
  std::string text;
  std::vector<ToolCall> calls;  // at most one
};

// Cuts an answer into text and calls while it is being made. Text that only looks like a call stays
// text; white space around calls is dropped. If the JSON of a call is damaged but has a name, the
// arguments are what the model wrote. A call that was cut off is neither text nor a call.
class ToolCallParser {
 public:
  // The ids of calls are made from `id_prefix` and a number; without a prefix they are random.
  explicit ToolCallParser(bool parallel, std::string id_prefix = "")
      : parallel_(parallel), id_prefix_(std::move(id_prefix)) {}
  // Takes more of the answer; returns the parts that are now certain.
  std::vector<AnswerPart> push(std::string_view text);
  // Returns what was held back. `cut`: the answer did not end by itself, so if the text at its end
  // may be the beginning of a call's mark, it is taken for one.
  std::vector<AnswerPart> finish(bool cut);
  // Whether finish() left out a call that had begun and was not complete.
  bool left_out_call() const { return left_out_call_; }
  int64_t calls() const { return calls_; }

 private:
  void add_text(std::string_view text, std::vector<AnswerPart>& parts);
  void add_call(std::string_view body, std::vector<AnswerPart>& parts);
  bool begin_call(size_t& begin, std::vector<AnswerPart>& parts);
  bool end_call(size_t& begin, std::vector<AnswerPart>& parts);
  // Takes the call between the marks at `open` and `close` of held_.
  void take_call(size_t open, size_t close, std::vector<AnswerPart>& parts);
  void give_call(ToolCallText made, std::vector<AnswerPart>& parts);
  void finish_open_calls(std::string_view rest, bool cut, std::vector<AnswerPart>& parts);
  void finish_text(std::string_view rest, bool cut, std::vector<AnswerPart>& parts);

  const bool parallel_;
  const std::string id_prefix_;
  std::string held_;  // not given out yet; begins with a call's mark, or with what may become one
  bool in_call_ = false;
  size_t looked_at_ = 0;  // in held_, while in a call; after a backslash, may be beyond the end
  bool quoted_ = false;   // whether a JSON string is open at looked_at_
  std::string space_;     // white space after the text so far: dropped if a call follows
  bool any_text_ = false;
  int64_t calls_ = 0;
  bool left_out_call_ = false;
};

// Whether the answer ends in a call that is not complete.
bool ends_in_half_call(std::string_view answer, bool cut);

}  // namespace cascade
