// The limit is --max-tokens, the daemon's own, or what is left of the model's context, of memory
// and of the disk.
#include "clients/ctl/cut_answer.h"

#include "base/counted.h"

namespace cascade::ctl {
namespace {

std::string limit_text(int64_t tokens, int32_t asked_for) {
  if (asked_for == 0) {
    return "by the daemon's limit (--max-tokens asks for more), or by the end of the model's "
           "context, or of the room in memory and on disk";
  }
  if (tokens < asked_for) {
    return "by the end of the model's context, or of the room in memory and on disk";
  }
  return "by --max-tokens " + std::to_string(asked_for);
}

}  // namespace

bool is_cut(const client::Generation& generation) {
  return generation.finish_reason == "length";
}

std::string cut_text(const client::Generation& generation, const wire::GenerateRequest& request) {
  const int64_t tokens = generation.usage.completion_tokens;
  const bool only_thoughts = generation.text.empty() && !generation.reasoning.empty();
  std::string text = only_thoughts ? "the thoughts were cut off, before an answer began, after "
                                   : "the answer was cut off after ";
  text += counted(tokens, "token") + " " + limit_text(tokens, request.max_tokens);
  if (request.grammar.has_value()) text += "; it may not be of the form that was asked for";
  if (only_thoughts) text += "; --no-think asks for no thoughts";
  return text;
}

}  // namespace cascade::ctl
