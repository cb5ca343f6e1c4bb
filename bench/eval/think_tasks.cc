// The reply's tokens are those of the history, so both chains have the same ones.
#include "bench/eval/think_tasks.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/text_edges.h"
#include "bench/eval/json_lines.h"
#include "model/conversation.h"
#include "model/spanned_text.h"
#include "model/think_marks.h"

namespace cascade::eval {
namespace {

// How much of a history an error shows.
constexpr size_t kShownTokens = 16;

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

// How many of the first `ids` it takes until their text has `text` at its beginning; 0: it never
// has.
size_t tokens_with(const Tokenizer& tokenizer, const std::string& text,
                   std::span<const int32_t> ids) {
  const auto text_of = [&](size_t count) {
    return tokenizer.decode(ids.first(count), /*skip_special=*/false);
  };
  const auto counts = std::views::iota(size_t{0}, ids.size());
  // The length grows with each token.
  const auto found = std::ranges::lower_bound(counts, text.size(), {},
                                              [&](size_t i) { return text_of(i + 1).size(); });
  if (found == counts.end()) return 0;
  return text_of(*found + 1).starts_with(text) ? *found + 1 : 0;
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
    if (trimmed(*text).empty()) {
      return invalid_argument(line.field(key), "must have more than white space");
    }
  }
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7F; };
  if (task.kind.empty() || task.kind == "all" || std::ranges::any_of(task.kind, is_control)) {
    return invalid_argument(line.field("kind"),
                            "must be a name for the table's lines, and not \"all\"");
  }
  ASSIGN_OR_RETURN(task.messages, messages_of(line));
  return task;
}

Result<ThinkChains> think_chains_of(const Model& model, const ThinkTask& task, int64_t now_unix_s) {
  const std::optional<ThinkTokens> marks = model.tokenizer.think_tokens();
  CHECK(marks);
  ConversationContext context = {model.tokenizer, model.templates, /*thinking=*/true, now_unix_s};
  ASSIGN_OR_RETURN(const EncodedPrompt prompt, encode_prompt(context, task.messages));
  ASSIGN_OR_RETURN(const std::vector<int32_t> thought,
                   encode_thought(model.tokenizer, *marks, task.thought, prompt.inside_think));
  std::vector<ChatMessage> messages = task.messages;
  messages.push_back({"assistant", task.reply, {}});
  ThinkChains chains;
  ASSIGN_OR_RETURN(const std::vector<int32_t> history, encode_history(context, messages));
  chains.begin = common_beginning(prompt.token_ids, history);
  const auto after = std::span(history).subspan(static_cast<size_t>(chains.begin));
  const size_t reply_tokens = tokens_with(model.tokenizer, task.reply, after);
  if (reply_tokens == 0 || chains.begin == 0) {
    const auto first = after.first(std::min<size_t>(after.size(), kShownTokens));
    return unsupported("chat_template",
                       "the history does not go on with the reply where the "
                       "prompt for it ends, but with '" +
                           model.tokenizer.decode(first, /*skip_special=*/false) + "'");
  }
  const std::span<const int32_t> reply = after.first(reply_tokens);
  chains.history.assign(history.begin(), history.begin() + chains.begin + std::ssize(reply));
  chains.sampled = prompt.token_ids;
  chains.sampled.insert(chains.sampled.end(), thought.begin(), thought.end());
  chains.reply_begin = std::ssize(chains.sampled);
  chains.sampled.insert(chains.sampled.end(), reply.begin(), reply.end());

  messages.push_back({"user", task.question, {}});
  context.thinking = false;
  ASSIGN_OR_RETURN(const EncodedPrompt question, encode_prompt(context, messages));
  const auto begins_with_history =
      common_beginning(question.token_ids, chains.history) == std::ssize(chains.history);
  if (!begins_with_history || question.token_ids.size() == chains.history.size()) {
    return unsupported("chat_template",
                       "the prompt of the question does not go on from the history, so nothing of "
                       "the reply would be reused");
  }
  chains.next.assign(question.token_ids.begin() + std::ssize(chains.history),
                     question.token_ids.end());
  return chains;
}

}  // namespace cascade::eval
