// Decodes tokens one after another, giving text as soon as it is certain.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/decoder_steps.h"

namespace cascade {

// One step at work: takes parts of tokens and ends of tokens, and gives them to the next step.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  // A part of the current token: whole code points.
  virtual void text(std::string_view part) = 0;
  virtual void end_token() = 0;
  // After the last token.
  virtual void finish() = 0;
};

// The stages of a decoder in a row. The results of take(), joined, are the decoded text, whenever
// take() is called; it is well-formed UTF-8 if the tokens are. One stream, one thread.
class TokenDecoderStream {
 public:
  // `steps` must outlive the stream. `goes_on`: the tokens continue an earlier text.
  explicit TokenDecoderStream(const std::vector<DecodeStep>& steps, bool goes_on = false);

  // The next token. Precondition: finish() was not called.
  void push(std::string_view token);
  // No token comes after this.
  void finish();
  // The text that became certain since the last call.
  std::string take();

 private:
  // Behind a pointer, so that the stages' references stay valid when the stream moves.
  std::unique_ptr<std::string> out_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;  // the last step first
};

}  // namespace cascade
