// The forms in which models write answers, thoughts and calls of tools, as grammars see them.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

enum class AnswerForm {
  // The answer is the text after the thoughts; a call is <tool_call>{"name":…,"arguments":…}
  // </tool_call> in it (base/tool_call_parser.h).
  kTagged,
  // A list of messages, each in a channel (model/harmony.h).
  kHarmony,
};

// Begins the bytes of a special token that a grammar may ask for. No text has this byte, because
// UTF-8 has none, so text cannot pass for such a token.
inline constexpr char kMarkByte = '\xFF';

// The bytes that stand for the special token with this spelling.
inline std::string mark_bytes(std::string_view spelling) {
  return kMarkByte + std::string(spelling);
}

}  // namespace cascade
