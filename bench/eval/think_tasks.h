// Questions after an answer whose thoughts are left out of the history.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"
#include "bench/json_lines.h"
#include "model/model.h"

namespace cascade::eval {

// A turn, in which the model thought and then replied, and the question after it.
struct ThinkTask {
  std::string id;
  std::string kind;
  std::vector<ChatMessage> messages;  // up to the user's, which is replied to
  std::string thought;                // without think tokens
  std::string reply;
  std::string question;
  std::string answer;  // what the question is to be answered with
};

// The task of a line: {"id", "kind", "messages": [{"role", "content"}, …], "thought", "reply",
// "question", "answer"}; other members are passed over. Errors: kInvalidArgument, with a field such
// as "line 3: reply": `kind` must have characters, none of them a control character, and not be
// "all"; thought, reply and question must have more than white space.
Result<ThinkTask> think_task_of(const bench::InputLine& line);

// The tokens of a task, as a daemon has K and V of them: the chain that was sampled, and the
// history that the template makes of it. Both end with the reply: K and V of the token that ends it
// come with the next prompt.
struct ThinkChains {
  std::vector<int32_t> sampled;  // prompt, thoughts, reply
  // The tokens of `sampled` from reply_begin on, at least one, are those of `history` from begin
  // on. The tokens before begin, at least one, are the same in both.
  int64_t reply_begin = 0;
  int64_t begin = 0;
  std::vector<int32_t> history;
  std::vector<int32_t> next;  // what the prompt of the question has after `history`; not empty

  int64_t thought_tokens() const { return reply_begin - begin; }
  int64_t reply_tokens() const { return std::ssize(history) - begin; }
};

// Thoughts are put as models with <think> write them; the question is asked without thoughts.
// `now_unix_s` is for templates that print the date. Precondition: the model has think tokens.
// Errors: kUnsupported, field "chat_template", if the template puts something else than the reply
// where the thoughts were, or changes the prompt before them; those of encode_prompt() and
// encode_history().
Result<ThinkChains> think_chains_of(const Model& model, const ThinkTask& task, int64_t now_unix_s);

}  // namespace cascade::eval
