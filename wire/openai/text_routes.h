// POST /tokenize, /detokenize and /apply-template, as llama.cpp's server has them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wire/messages.h"
#include "wire/openai/api_error.h"
#include "wire/openai/logprobs.h"

namespace cascade::openai {

struct TokenizeCall {
  wire::TokenizeRequest request;
  bool with_pieces = false;
};

// {"content" or "prompt", "add_special"?, "with_pieces"?}. In errors, the field is the param.
Result<TokenizeCall> decode_tokenize(std::string_view body);
// {"tokens":[…],"count","max_model_len"}; with `texts`, each token is {"id","piece"}. A piece that
// is a part of a character is an array of its bytes, as llama.cpp's server has it.
std::string encode_tokens(std::span<const int32_t> tokens, std::span<const TokenText> texts,
                          int64_t context_tokens);

// {"tokens":[…]}
Result<wire::DetokenizeRequest> decode_detokenize(std::string_view body);
// Renames the param of an error: what our protocol calls token_ids is "tokens" here, and "text" is
// "content".
ApiError with_tokens_param(ApiError error);

// {"messages","tools"?,"chat_template_kwargs"?}
Result<wire::ApplyTemplateRequest> decode_apply_template(std::string_view body);

}  // namespace cascade::openai
