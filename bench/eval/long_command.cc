// long: questions about long contexts, one conversation after the other.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text_edges.h"
#include "bench/eval/commands.h"
#include "bench/eval/divergence.h"
#include "bench/eval/json_lines.h"
#include "bench/eval/long_tasks.h"
#include "model/conversation.h"

namespace cascade::eval {
namespace {

constexpr size_t kAnswerTokensMax = 64;

Result<std::vector<LongTask>> read_long_tasks(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<InputLine> lines, read_json_lines(path));
  std::vector<LongTask> tasks;
  for (const InputLine& line : lines) {
    ASSIGN_OR_RETURN(tasks.emplace_back(), long_task_of(line));
  }
  return tasks;
}

// An attention mode that answers, and what it has achieved so far.
struct Mode {
  AttentionMode attention;
  LongScores scores = {};
  std::map<int64_t, std::vector<Divergence>> divergences = {};  // by the tasks' lengths
};

struct LongAnswer {
  std::vector<int32_t> tokens;
  std::vector<float> logits;  // [tokens, vocab_size]: what each token was chosen by
  int64_t selected_tokens = 0;
  double seconds = 0;
};

// The most likely tokens after `prompt`, up to an end token. Errors: those of Session::start(),
// Session::append() and sample().
Result<LongAnswer> answer_to(Session& session, const AttentionMode& mode,
                             std::span<const int32_t> prompt) {
  const Model& model = session.model();
  const int64_t start_us = system_clock().monotonic_us();
  const int64_t selected_before = session.selected_tokens();
  LongAnswer answer;
  Status problem;
  const auto choose = [&](size_t, std::span<float> row) {
    answer.logits.insert(answer.logits.end(), row.begin(), row.end());
    const auto next = sample(row, {}, {}, session.length(), *model.kernels);
    if (next.ok()) {
      answer.tokens.push_back(next->token);
    } else {
      problem = next.error();
    }
  };
  const auto& ends = model.generation.end_tokens;
  RETURN_IF_ERROR(session.start(mode));
  RETURN_IF_ERROR(session.append(prompt, 0, 1, choose));
  while (problem.ok() && std::ranges::find(ends, answer.tokens.back()) == ends.end() &&
         answer.tokens.size() < kAnswerTokensMax &&
         session.length() < model.config.context_tokens_max) {
    RETURN_IF_ERROR(session.append(std::vector<int32_t>{answer.tokens.back()}, 0, 1, choose));
  }
  RETURN_IF_ERROR(problem);
  answer.selected_tokens = session.selected_tokens() - selected_before;
  answer.seconds = static_cast<double>(system_clock().monotonic_us() - start_us) / 1e6;
  return answer;
}

// How far each prediction of `reference` is from that of the session, which has just answered
// `answer` to the same prompt: it is given the tokens of `reference`. Errors: those of append().
Result<std::vector<Divergence>> divergences_from(const LongAnswer& reference,
                                                 const LongAnswer& answer, Session& session,
                                                 int64_t prompt_tokens) {
  const size_t vocab = session.model().config.vocab_size;
  const auto row_of = [&](const LongAnswer& of, size_t i) {
    return std::span(of.logits).subspan(i * vocab, vocab);
  };
  std::vector<Divergence> all = {
      divergence_of(row_of(reference, 0), row_of(answer, 0), reference.tokens[0])};
  session.cut(prompt_tokens);
  for (size_t i = 1; i < reference.tokens.size(); ++i) {
    RETURN_IF_ERROR(session.append(
        std::span(reference.tokens).subspan(i - 1, 1), 0, 1, [&](size_t, std::span<float> row) {
          all.push_back(divergence_of(row_of(reference, i), row, reference.tokens[i]));
        }));
  }
  return all;
}

// What a task's line says of an answer.
Json answer_json(const Model& model, const LongTask& task, const LongAnswer& answer,
                 LongScores& scores) {
  const std::string output = model.tokenizer.decode(answer.tokens, /*skip_special=*/true);
  const bool correct = trimmed(output) == trimmed(task.answer);
  scores.add(task, correct);
  return {{"output", trimmed(output)},
          {"correct", correct},
          {"selected_tokens", answer.selected_tokens},
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
  std::optional<LongAnswer> reference;
  for (Mode& mode : modes) {
    ASSIGN_OR_RETURN(LongAnswer answer, answer_to(session, mode.attention, prompt->token_ids));
    Json said = answer_json(model, task, answer, mode.scores);
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
  ASSIGN_OR_RETURN(const std::vector<LongTask> tasks, read_long_tasks(options.tasks));
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
