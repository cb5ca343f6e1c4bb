// Both forms are a name and members in brackets.
#include "model/calls/relaxed_body.h"

#include <algorithm>
#include <optional>

#include "base/text_edges.h"
#include "model/calls/call_json.h"
#include "model/calls/call_marks.h"
#include "model/calls/relaxed_text.h"
#include "model/mark_bytes.h"

namespace cascade {
namespace {

// How often reading goes on after a part that is no call, so that many such parts take no longer.
constexpr int kFailuresMax = 64;
// What may follow a call in a list.
constexpr std::string_view kCallEnds = ",;\n]";

// `text` with kMarkByte for each mark of a string, and without other marks. If the model has such a
// token, its spelling is no mark.
std::string with_string_marks(std::string_view text) {
  std::string mark = mark_bytes(kGemmaStringMark);
  if (text.find(mark) == text.npos) mark = kGemmaStringMark;
  std::string out;
  for (size_t at; (at = text.find(mark)) != text.npos; text.remove_prefix(at + mark.size())) {
    out += without_marks(text.substr(0, at)) + kMarkByte;
  }
  return out + without_marks(text);
}

RelaxedText::Bare values_of(const std::string& function, const ToolTypes& types) {
  return [&function, &types](const std::string& member, const std::string& text) {
    return types.value(function, member, text);
  };
}

}  // namespace

std::vector<std::string> read_gemma(std::string_view body, const ToolTypes& types) {
  constexpr std::string_view kPrefix = "call:";
  const std::string marked = with_string_marks(trimmed(body));
  RelaxedText text(marked);
  if (text.rest().starts_with(kPrefix)) text.skip_bytes(kPrefix.size());
  (void)text.take(':');  // models write it in the place of "call:", too
  const std::string name(trimmed(text.take_until("{(")));
  if (!is_function_name(name)) return {};
  const bool is_python = text.rest().starts_with('(');
  const std::string written = without_marks(text.rest());
  text.skip_bytes(1);
  const auto arguments = text.members(is_python ? ')' : '}', values_of(name, types));
  return {call_json(name, arguments ? dump_exact(*arguments) : call_arguments(written))};
}

std::vector<std::string> read_pythonic(std::string_view body, const ToolTypes& types,
                                       bool only_known) {
  std::vector<std::string> calls;
  const std::string plain = without_marks(body);
  RelaxedText text(plain);
  if (text.take('[')) text.skip(kBlanks);
  for (int failures = 0; !text.at_end() && !text.rest().starts_with(']');) {
    const std::string_view begin = text.rest();
    const std::string name = text.take_until("(\n");
    // After a part that was no call, only known functions count.
    const bool may_count = (!only_known && failures == 0) || types.has(name);
    std::optional<OrderedJson> arguments;
    if (may_count && is_function_name(name) && text.take('(')) {
      arguments = text.members(')', values_of(name, types));
    }
    text.skip(" \t\r");
    const bool ends = text.rest().empty() || kCallEnds.find(text.rest()[0]) != kCallEnds.npos;
    if (arguments && ends) {
      calls.push_back(call_json(name, dump_exact(*arguments)));
    } else {
      if (only_known || ++failures > kFailuresMax)
        return only_known ? std::vector<std::string>() : calls;
      text = RelaxedText(begin);
      (void)text.take_until(",;\n");
    }
    text.skip(" \t\r\n,;");
  }
  return calls;
}

}  // namespace cascade
