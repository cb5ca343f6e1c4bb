// Log-probabilities of an answer's tokens, and the texts of these tokens.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "wire/messages.h"

namespace cascade::openai {

// What a token adds to a text. A special token adds nothing if it was sampled; if it is only one of
// the likely tokens, it is spelled out.
struct TokenText {
  std::string text;  // U+FFFD for a part of a character
  std::string bytes;
};

// The requests that ask the daemon for the texts that log-probabilities need: those of the answer's
// tokens, then those of the likely tokens, place by place. `goes_on`: the answer continues a text
// of the prompt (wire::goes_on_with_text()).
std::vector<wire::DetokenizeRequest> token_text_requests(const wire::Final& final, bool goes_on);
// Appends the daemon's reply to one of these requests. Returns false if the reply is not what was
// asked for.
bool append_texts(wire::DetokenizeReply&& reply, size_t count, std::vector<TokenText>& texts);

// An array of numbers, or null if there are none.
OrderedJson bytes_of(std::string_view bytes);

// For both functions, `texts` are those of all token_text_requests(). What is not a part of the
// answer is left out: thoughts, line ends after them, and special tokens at the end. Tokens of a
// stop string are included.

// chat completions' {"content":[{"token","logprob","bytes","top_logprobs":[…]}]}. The joined tokens
// are the answer, and so are the joined bytes.
OrderedJson encode_logprobs(const wire::Final& final, std::span<const TokenText> texts);
// completions' {"tokens","token_logprobs","top_logprobs","text_offset"}. Offsets count characters
// (code points) from the beginning of the answer. A part of a character is named by its bytes,
// "bytes:\xc3", as in OpenAI's API. The sampled token is always among the likely ones. If several
// tokens have the same text, the less likely ones are named "token_id:7", as by vLLM.
OrderedJson encode_text_logprobs(const wire::Final& final, std::span<const TokenText> texts);

}  // namespace cascade::openai
