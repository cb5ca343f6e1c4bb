// The prompts of `cascadectl generate --batch FILE`: one a line, as text or as a JSON request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clients/ctl/generate.h"

namespace cascade::ctl {

// A line of the file that is not blank.
struct BatchLine {
  size_t number = 0;  // from 1
  std::string_view text;
};

// Views of `text`. A "\r" before the end of a line is no part of it.
std::vector<BatchLine> batch_lines(std::string_view text);

// The request of one line. A line that begins with "{" is a JSON object with the fields of a
// GenerateRequest by their names in the protocol (docs/protocol.md), which go before those of the
// options, and in place of `prompt`, `messages` and `chunks` perhaps a `query`, which is composed
// with the system prompt and the contexts of the options. Every other line is a query. Pure.
// Errors: kInvalidArgument, the field begins with "line N": not JSON, an unknown key, no prompt or
// more than one, what wire::decode() refuses.
Result<wire::GenerateRequest> batch_request(const BatchLine& line, const GenerateOptions& options,
                                            const std::vector<ResolvedContext>& contexts);

}  // namespace cascade::ctl
