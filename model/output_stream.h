// Turns sampled tokens into the answer and the thoughts, as a stream and as whole texts. The calls
// in an answer have one form, whatever form the model writes (base/tool_call_parser.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/chunk.h"
#include "model/calls/call_translator.h"
#include "model/harmony.h"
#include "model/thought_text.h"
#include "model/tokenizer.h"

namespace cascade {

// Tells thoughts from answer by the tokenizer's think tokens: blocks may be closed, unclosed, empty
// or repeated; a closing token without an opening one ends a block that the prompt opened, and so
// does the mark of a call. If the model writes harmony, the channels tell them apart, and
// everything that is neither text of the answer nor arguments of a call is a think block. Looks for
// stop strings in the answer only. One generation, one thread; must not outlive the tokenizer.
class OutputStream {
 public:
  // `inside_think`: the prompt ended inside an open think block. `goes_on`: the answer continues a
  // text at the end of the prompt, and keeps the space between them; in harmony, the prompt ended
  // in the body of an answer. `calls`: if given, changes the calls in the answer. `harmony`: what
  // the prompt ended in, if the model writes harmony and the flags do not say it all.
  OutputStream(const Tokenizer& tokenizer, bool inside_think, std::vector<std::string> stop,
               bool goes_on = false, std::optional<CallTranslator> calls = std::nullopt,
               std::optional<HarmonyReader> harmony = std::nullopt);

  // A piece of text that has become certain; thoughts and answer come in separate pieces.
  struct Piece {
    std::string text;
    bool reasoning = false;
  };
  // Takes the next sampled token (not the end token). Returns the new pieces.
  std::vector<Piece> push(int32_t token);
  // True once a stop string was found: the answer ends before it, and no more tokens are wanted.
  bool stopped() const { return stopped_; }

  // Ends the stream and returns the text that was held back. `ended`: an end token was sampled, so
  // a call that is open is complete.
  std::vector<Piece> finish(bool ended = false);

  const std::string& answer() const { return answer_; }
  const std::string& reasoning() const { return thoughts_.text(); }
  // The bytes of both, and of a call that is not in the answer yet.
  size_t bytes() const;
  // All tokens as text, think tokens included. After finish().
  std::string raw_text() const;
  const std::vector<ThinkSpan>& think_spans() const { return think_spans_; }
  int64_t reasoning_tokens() const;

 private:
  void push_plain(int32_t token, std::vector<Piece>& pieces);
  void push_call_mark(std::string_view mark, std::vector<Piece>& pieces);
  void push_harmony(int32_t token, std::vector<Piece>& pieces);
  void begin_part(std::vector<Piece>& pieces);
  void end_text(std::vector<Piece>& pieces);
  void give_call(bool complete, std::vector<Piece>& pieces);
  void add_mark(std::string_view text, std::vector<Piece>& pieces);
  void toggle(bool thinking, std::vector<Piece>& pieces);
  void add_text(std::string text, std::vector<Piece>& pieces);
  void add_calls(std::vector<CallTranslator::Piece> read, std::vector<Piece>& pieces);
  void add_answer(const std::string& text, std::vector<Piece>& pieces);
  void emit_answer(size_t end, std::vector<Piece>& pieces);

  const Tokenizer& tokenizer_;
  const std::optional<ThinkTokens> think_;
  const std::optional<HarmonyTokens> marks_;
  HarmonyReader harmony_;  // used if there are marks_
  std::optional<CallTranslator> calls_;
  const bool goes_on_;
  const std::vector<std::string> stop_;
  size_t stop_bytes_max_ = 0;
  Tokenizer::StreamDecoder decoder_;  // of the current block
  ThoughtText thoughts_;
  bool thinking_;
  bool stopped_ = false;
  bool strip_newlines_ = false;  // at the beginning of an answer, they are the template's
  std::vector<int32_t> tokens_;
  std::vector<ThinkSpan> think_spans_;
  std::string answer_;
  size_t answer_emitted_ = 0;
  bool joins_ = false;  // true if the next text begins another message of the answer
  std::string call_;    // the arguments of the open call so far
};

}  // namespace cascade
