// The prompts of `cascadectl generate --batch FILE`: one per line, as text or as a JSON request.
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

// The parts of the result are views of `text`. A "\r" before the end of a line does not belong to
// it.
std::vector<BatchLine> batch_lines(std::string_view text);

// The request of one line. A line that begins with "{" is a JSON object with the fields of a
// GenerateRequest, named as in the protocol (docs/protocol.md). They take precedence over the
// options' fields. In place of `prompt`, `messages` and `chunks` it may have a `query`, which is
// composed with the system prompt and the contexts of the options. Every other line is a query.
// Pure. Errors: kInvalidArgument, with a field that begins with "line N", for a line that is not
// JSON, has an unknown key, or has no prompt or more than one, and for everything that
// wire::decode() refuses.
Result<wire::GenerateRequest> batch_request(const BatchLine& line, const GenerateOptions& options,
                                            const std::vector<ResolvedContext>& contexts);

}  // namespace cascade::ctl
