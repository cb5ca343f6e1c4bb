// The reply's tokens are those of the history, so both chains have the same ones.
#include "bench/eval/think_tasks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/eval/json_lines.h"
#include "model/conversation.h"
#include "model/spanned_text.h"
#include "model/think_marks.h"

namespace cascade::eval {
namespace {

// What the model writes before a reply. `inside`: the prompt has the first mark already.
Result<std::vector<int32_t>> encode_thought(const Tokenizer& tokenizer, const ThinkTokens& marks,
                                            const std::string& thought, bool inside) {
  SpannedText text;
  if (!inside) {
    append_span(text, tokenizer.decode({{marks.open}}, /*skip_special=*/false), true);
    append_span(text, std::string(marks.header) + '\n', false);
  }
  append_span(text, thought + '\n', false);
  append_span(text, tokenizer.decode({{marks.close}}, /*skip_special=*/false), true);
  append_span(text, "\n\n", false);
  return tokenizer.encode(text, /*with_template=*/false);
}

int64_t common_beginning(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

Result<ThinkTask> think_task_of(const bench::InputLine& line) {
  ThinkTask task;
  for (const auto& [key, to] :
       {std::pair{"id", &task.id}, std::pair{"kind", &task.kind},
        std::pair{"thought", &task.thought}, std::pair{"reply", &task.reply},
        std::pair{"question", &task.question}, std::pair{"answer", &task.answer}}) {
    ASSIGN_OR_RETURN(*to, string_of(line, key));
  }
  for (const auto& [key, text] :
       {std::pair{"thought", &task.thought}, std::pair{"reply", &task.reply},
        std::pair{"question", &task.question}}) {
    if (text->empty()) return invalid_argument(line.field(key), "must not be empty");
  }
  ASSIGN_OR_RETURN(task.messages, messages_of(line));
  return task;
}

Result<ThinkChains> think_chains_of(const Model& model, const ThinkTask& task, int64_t now_unix_s) {
  const std::optional<ThinkTokens> marks = model.tokenizer.think_tokens();
  if (!marks) return unsupported("chat_template", "the model has no think tokens");
  ConversationContext context = {model.tokenizer, model.templates, /*thinking=*/true, now_unix_s};
  ASSIGN_OR_RETURN(const EncodedPrompt prompt, encode_prompt(context, task.messages));
  ASSIGN_OR_RETURN(const std::vector<int32_t> thought,
                   encode_thought(model.tokenizer, *marks, task.thought, prompt.inside_think));
  std::vector<ChatMessage> messages = task.messages;
  messages.push_back({"assistant", task.reply, {}});
  ThinkChains chains;
  ASSIGN_OR_RETURN(chains.history, encode_history(context, messages));
  chains.begin = common_beginning(prompt.token_ids, chains.history);
  const auto reply = std::span(chains.history).subspan(static_cast<size_t>(chains.begin));
  if (!model.tokenizer.decode(reply, /*skip_special=*/true).starts_with(task.reply)) {
    return unsupported("chat_template",
                       "the history does not have the reply where the prompt for it ends, but '" +
                           model.tokenizer.decode(reply.first(std::min<size_t>(reply.size(), 16)),
                                                  /*skip_special=*/false) +
                           "'");
  }
  chains.sampled = prompt.token_ids;
  chains.sampled.insert(chains.sampled.end(), thought.begin(), thought.end());
  chains.reply_begin = std::ssize(chains.sampled);
  chains.sampled.insert(chains.sampled.end(), reply.begin(), reply.end());

  messages.push_back({"user", task.question, {}});
  context.thinking = false;
  ASSIGN_OR_RETURN(const EncodedPrompt question, encode_prompt(context, messages));
  const auto history_tokens = std::ssize(chains.history);
  if (common_beginning(question.token_ids, chains.history) != history_tokens) {
    return unsupported("chat_template",
                       "the prompt of the question does not go on from the "
                       "history, so nothing of it would be reused");
  }
  chains.next.assign(question.token_ids.begin() + history_tokens, question.token_ids.end());
  return chains;
}

}  // namespace cascade::eval
