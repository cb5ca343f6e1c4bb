// long: questions about long contexts, one conversation after the other.
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text_edges.h"
#include "bench/eval/commands.h"
#include "bench/eval/divergence.h"
#include "bench/eval/greedy_answer.h"
#include "bench/eval/json_lines.h"
#include "bench/eval/long_tasks.h"
#include "model/conversation.h"

namespace cascade::eval {
namespace {

// An attention mode that answers, and what it has achieved so far.
struct Mode {
  AttentionMode attention;
  LongScores scores = {};
  std::map<int64_t, std::vector<Divergence>> divergences = {};  // by the tasks' lengths
};

// What a task's line says of an answer.
Json answer_json(const Session& session, const LongTask& task, const GreedyAnswer& answer,
                 int64_t selected_before, LongScores& scores) {
  const std::string output = answer.text(session.model());
  const bool correct = output == trimmed(task.answer);
  scores.add(task, correct);
  return {{"output", output},
          {"correct", correct},
          {"selected_tokens", session.selected_tokens() - selected_before},
          {"seconds", answer.seconds}};
}

// The line of the result. Errors: what the next tasks would meet, too.
Result<Json> run_task(Session& session, const LongTask& task, std::vector<Mode>& modes) {
  const Model& model = session.model();
  Json line = {{"id", task.id}, {"kind", task.kind}, {"tokens", task.tokens}};
  const auto not_asked = [&](const std::string& error) {
    for (Mode& mode : modes) mode.scores.add(task, false);
    line["error"] = error;
    return line;
  };
  // An answer of a few tokens has no room for thoughts.
  const ConversationContext context = {model.tokenizer, model.templates, /*thinking=*/false,
                                       system_clock().wall_us() / 1'000'000};
  const auto prompt = encode_prompt(context, task.messages);
  if (!prompt.ok()) return not_asked(prompt.error().to_string());
  const auto prompt_tokens = std::ssize(prompt->token_ids);
  line["prompt_tokens"] = prompt_tokens;
  if (prompt_tokens > model.config.context_tokens_max) {
    return not_asked("the prompt has " + std::to_string(prompt_tokens) +
                     " tokens; the model's context holds " +
                     std::to_string(model.config.context_tokens_max));
  }
  line["answer"] = task.answer;
  std::optional<GreedyAnswer> reference;
  for (Mode& mode : modes) {
    const int64_t selected_before = session.selected_tokens();
    RETURN_IF_ERROR(session.start(mode.attention));
    ASSIGN_OR_RETURN(GreedyAnswer answer, answer_to(session, prompt->token_ids));
    Json said = answer_json(session, task, answer, selected_before, mode.scores);
    if (!reference) {
      line.update(said);
      reference = std::move(answer);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<Divergence> divergences,
                     divergences_from(*reference, answer, session, prompt_tokens));
    auto& of_length = mode.divergences[task.tokens];
    of_length.insert(of_length.end(), divergences.begin(), divergences.end());
    said["attention"] = to_string(mode.attention);
    for (const Divergence& divergence : divergences) said["kl"].push_back(divergence.kl);
    line["compared"].push_back(std::move(said));
  }
  return line;
}

// Returns the modes that answer: the first one is the one that others are compared with. Errors:
// kInvalidArgument, with the option as field.
Result<std::vector<Mode>> modes_of(const LongOptions& options, Session& session) {
  std::vector<Mode> modes = {{session.attention()}};
  for (const std::string& text : options.compared) {
    const auto mode = parse_attention_mode(text);
    if (!mode.ok()) return invalid_argument("--compare", mode.error().message);
    RETURN_IF_ERROR(session.start(*mode));  // says whether the session can attend in it
    modes.push_back({*mode});
  }
  return modes;
}

void print_results(const std::vector<Mode>& modes) {
  for (const Mode& mode : modes) {
    if (modes.size() > 1) std::fprintf(stderr, "%s\n", to_string(mode.attention).c_str());
    std::fputs(mode.scores.table().c_str(), stderr);
    for (const auto& [tokens, divergences] : mode.divergences) {
      const DivergenceSummary all = summarize(divergences);
      std::fprintf(stderr,
                   "%lld tokens: KL from %s mean %.3g, 99 %% at most %.3g, largest %.3g; the same "
                   "top token in %.2f %% of %zu positions\n",
                   static_cast<long long>(tokens), to_string(modes.front().attention).c_str(),
                   all.mean_kl, all.p99_kl, all.max_kl, 100 * all.top1_agreement,
                   divergences.size());
    }
  }
}

}  // namespace

Status answer_long_tasks(const LongOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<LongTask> tasks, read_tasks(options.tasks, long_task_of));
  ASSIGN_OR_RETURN(const auto session, Session::open(options.session));
  if (!session->model().config.recurrent.layers.empty()) {
    return unsupported("--model",
                       "has recurrent layers, whose state cannot go back to the end of a "
                       "prompt, as this comparison needs it");
  }
  RETURN_IF_ERROR(session->model().templates.choose(/*tools=*/false));
  ASSIGN_OR_RETURN(std::vector<Mode> modes, modes_of(options, *session));
  for (const LongTask& task : tasks) {
    ASSIGN_OR_RETURN(const Json line, run_task(*session, task, modes));
    RETURN_IF_ERROR(write_line(line));
  }
  print_results(modes);
  return {};
}

}  // namespace cascade::eval
