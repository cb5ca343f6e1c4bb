// Harmony, the form in which gpt-oss writes: a generation is a list of messages. A message has a
// header, which names a channel and perhaps the function that it calls, and a body. Source:
// https://github.com/openai/harmony, docs/format.md.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace cascade {

// The special tokens around the parts of a message.
enum class HarmonyMark {
  kStart,      // <|start|>, before the role
  kChannel,    // <|channel|>, before the channel's name
  kMessage,    // <|message|>, before the body
  kEnd,        // <|end|>, after a message that another message follows
  kConstrain,  // <|constrain|>, before the type of the body
  kCall,       // <|call|>, after a call; ends the generation
  kReturn,     // <|return|>, after the answer; ends the generation
};

// How the marks are spelled, in the order of HarmonyMark.
inline constexpr std::array<std::pair<HarmonyMark, std::string_view>, 7> kHarmonyMarks = {{
    {HarmonyMark::kStart, "<|start|>"},
    {HarmonyMark::kChannel, "<|channel|>"},
    {HarmonyMark::kMessage, "<|message|>"},
    {HarmonyMark::kEnd, "<|end|>"},
    {HarmonyMark::kConstrain, "<|constrain|>"},
    {HarmonyMark::kCall, "<|call|>"},
    {HarmonyMark::kReturn, "<|return|>"},
}};

// What a part of a generation is.
enum class HarmonyPart {
  kHeader,    // of the message that comes next
  kThoughts,  // the channel analysis
  kAnswer,    // the channels final and commentary
  kCall,      // the arguments of a function, whatever the channel
  kOthers,    // a message of another role, which only its author can write
};

struct HarmonyHeader {
  HarmonyPart part = HarmonyPart::kAnswer;
  std::string function;  // of a call
};

// Reads a header: `role` is the text before <|channel|>, `channel` that after it, and `rest` that
// after <|constrain|>. Models write the recipient, "to=functions.NAME", in any of them. A header
// that says nothing is that of an answer.
HarmonyHeader read_harmony_header(std::string_view role, std::string_view channel,
                                  std::string_view rest);

// Finds the parts of a generation. One generation, one thread.
class HarmonyReader {
 public:
  // `begins`: what comes first. With kHeader, the assistant's role came before.
  explicit HarmonyReader(HarmonyPart begins) : part_(begins) {}
  // The same reader, for a generation that continues what was taken.
  HarmonyReader at_generation() const;

  void push(HarmonyMark mark);
  // Takes text. True if it belongs to the body of part(), false if it belongs to a header. A
  // generation that begins with other text than that of a header begins with an answer. A header of
  // somebody else that never gets a body is taken for a message of that role.
  bool push(std::string_view text);
  // The part that goes on after what was taken.
  HarmonyPart part() const { return part_; }
  // The function that is called, while part() is kCall.
  const std::string& function() const { return function_; }

 private:
  void begin_header();

  HarmonyPart part_;
  bool is_first_ = true;
  bool has_author_ = false;                                      // the header began with <|start|>
  std::string role_, channel_, rest_;                            // of the header so far
  std::string HarmonyReader::*section_ = &HarmonyReader::role_;  // the one of these that goes on
  std::string function_;
};

// Whether `raw_text`, all that a model generated with its special tokens spelled out, is harmony:
// it begins with a channel, or has a mark of harmony and none of think blocks.
bool is_harmony_text(std::string_view raw_text);

// The thoughts in such a text, as OutputStream::reasoning() has them.
std::string harmony_thoughts(std::string_view raw_text);

}  // namespace cascade
