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

// The request for `options`, with `query` if it is given. Pure. Errors: kInvalidArgument: two
// system prompts, two queries or none, contexts with --raw, or a parameter out of range.
Result<wire::GenerateRequest> compose_request(const GenerateOptions& options,
                                              const std::vector<ResolvedContext>& contexts,
                                              const std::optional<std::string>& query);

// The contexts of `options`: files are read (`in` for "-"), chunks looked up. Errors: those of
// read_text() and Client::get_chunk(); kInvalidArgument for a file that is not text.
Result<std::vector<ResolvedContext>> resolve_contexts(client::Client& client, std::istream& in,
                                                      const GenerateOptions& options);

// All of `in`, without its last newline. Errors: kInvalidArgument, field "stdin": too long, or not
// text in UTF-8.
Result<std::string> read_prompt(std::istream& in);

// Prints the answer, made harmless, with a newline at its end.
void print_answer(Screen& screen, const std::string& text);

// Prints on stderr, beside the answer, what is kept, how sure the model was, and what it cost.
void print_remarks(Screen& screen, const client::Generation& generation);
// If a limit cut the answer to `request`, says so on stderr, with --json too: "warning: line 3: the
// answer was cut off after 16 tokens …". `where` is the text before that, "" or "line 3: ".
void print_cut(Screen& screen, const std::string& where, const client::Generation& generation,
               const wire::GenerateRequest& request);

// generate with --batch: sends the prompts of the file (of `in`, if it is "-"), 32 at once, and
// prints the answers in the order of the prompts. Checks every line before it sends anything.
// Returns the exit code of the first prompt that failed; kExitCut if none failed and a limit cut an
// answer.
int run_batch(client::Client& client, Screen& screen, std::istream& in,
              const GenerateOptions& options);

// Runs the command; the prompt comes from `in` if no option has it. Returns the exit code.
int run_generate(client::Client& client, Screen& screen, std::istream& in,
                 const GenerateOptions& options);

}  // namespace cascade::ctl
