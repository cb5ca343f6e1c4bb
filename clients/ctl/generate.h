// cascadectl generate.
#pragma once

#include <istream>
#include <vector>

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// A context argument after its file was read or its chunk was found.
struct ResolvedContext {
  ChunkType type = ChunkType::kContext;
  std::string id;  // exactly one of id and text
  std::string text;
};

// The request for `options`, with `query` if it is there. Pure.
// Errors: kInvalidArgument: two system prompts, two queries or none, contexts with --raw, or a
// parameter out of range.
Result<wire::GenerateRequest> compose_request(const GenerateOptions& options,
                                              const std::vector<ResolvedContext>& contexts,
                                              const std::optional<std::string>& query);

// Runs the command; `in` is where the prompt comes from if no option has it. Returns the exit code.
int run_generate(client::Client& client, Screen& screen, std::istream& in,
                 const GenerateOptions& options);

}  // namespace cascade::ctl
