// think: what the think policies keep of the answer to the next question.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text_edges.h"
#include "bench/eval/commands.h"
#include "bench/eval/greedy_answer.h"
#include "bench/eval/json_lines.h"
#include "bench/eval/think_scores.h"
#include "bench/eval/think_tasks.h"

namespace cascade::eval {
namespace {

// The first one is exact, and the one that the others are compared with. What kDrop leaves has the
// same bits.
constexpr std::array kPolicies = {ThinkPolicy::kReprefill, ThinkPolicy::kSplice, ThinkPolicy::kMask,
                                  ThinkPolicy::kKeep};

Status append(Session& session, std::span<const int32_t> ids) {
  return session.append(ids, 0, 0, [](size_t, std::span<float>) {});
}

// Leaves in the session what the policy makes of the turn; returns the seconds that it takes after
// the reply. Precondition: the session has the tokens before chains.begin. Errors: those of
// Session::append().
Result<double> end_turn(Session& session, const ThinkChains& chains, ThinkPolicy policy) {
  const auto begin = static_cast<size_t>(chains.begin);
  session.cut(chains.begin);
  if (policy != ThinkPolicy::kReprefill) {
    RETURN_IF_ERROR(append(session, std::span(chains.sampled).subspan(begin)));
  }
  const int64_t start_us = system_clock().monotonic_us();
  if (policy == ThinkPolicy::kReprefill) {
    RETURN_IF_ERROR(append(session, std::span(chains.history).subspan(begin)));
  } else if (policy != ThinkPolicy::kKeep) {
    session.remove(chains.begin, chains.reply_begin, approximation_of(policy));
  }
  return static_cast<double>(system_clock().monotonic_us() - start_us) / 1e6;
}

Json json_of(ThinkPolicy policy, const std::string& output, const GreedyAnswer& answer,
             const ThinkResult& result) {
  Json object = {
      {"policy", to_string(policy)},           {"output", output},
      {"as_expected", result.as_expected},     {"equal", result.equal},
      {"ready_seconds", result.ready_seconds}, {"first_token_seconds", answer.first_token_seconds},
      {"kv_bytes", result.kv_bytes},           {"kl", Json::array()}};
  for (const Divergence& divergence : result.divergences) object["kl"].push_back(divergence.kl);
  return object;
}

// The line of the result. Errors: what the next tasks would meet, too.
Result<Json> run_task(Session& session, const ThinkTask& task, ThinkScores& scores) {
  const Model& model = session.model();
  Json line = {{"id", task.id}, {"kind", task.kind}};
  const auto chains = think_chains_of(model, task, system_clock().wall_us() / 1'000'000);
  if (!chains.ok()) {
    line["error"] = chains.error().to_string();
    return line;
  }
  // With kMask and kKeep, the thoughts take room beside the answer.
  const int64_t longest = std::ssize(chains->sampled) + std::ssize(chains->next) + kAnswerTokensMax;
  line["prompt_tokens"] = std::ssize(chains->history) + std::ssize(chains->next);
  line["thought_tokens"] = chains->thought_tokens();
  line["reply_tokens"] = chains->reply_tokens();
  if (longest > model.config.context_tokens_max) {
    line["error"] = "thoughts, prompt and answer may take " + std::to_string(longest) +
                    " tokens; the model's context holds " +
                    std::to_string(model.config.context_tokens_max);
    return line;
  }
  line["answer"] = task.answer;
  session.clear();
  RETURN_IF_ERROR(
      append(session, std::span(chains->history).first(static_cast<size_t>(chains->begin))));
  std::optional<GreedyAnswer> exact;
  for (const ThinkPolicy policy : kPolicies) {
    ThinkResult result;
    ASSIGN_OR_RETURN(result.ready_seconds, end_turn(session, *chains, policy));
    result.kv_bytes = session.page_bytes();
    const int64_t prompt_tokens = session.length() + std::ssize(chains->next);
    ASSIGN_OR_RETURN(GreedyAnswer answer, answer_to(session, chains->next));
    if (!exact) exact = answer;
    ASSIGN_OR_RETURN(result.divergences, divergences_from(*exact, answer, session, prompt_tokens));
    const std::string output = answer.text(model);
    result.as_expected = output == trimmed(task.answer);
    result.equal = answer.tokens == exact->tokens;
    line["policies"].push_back(json_of(policy, output, answer, result));
    scores.add(task.kind, policy, std::move(result));
  }
  return line;
}

}  // namespace

Status compare_think_policies(const ThinkOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<ThinkTask> tasks, read_tasks(options.tasks, think_task_of));
  ASSIGN_OR_RETURN(const auto session, Session::open(options.session));
  if (!session->model().config.recurrent.layers.empty()) {
    return unsupported("--model",
                       "has recurrent layers: a state that has read thoughts cannot forget them");
  }
  if (!session->model().tokenizer.think_tokens()) {
    return unsupported("--model", "has no think tokens: it does not think");
  }
  RETURN_IF_ERROR(session->model().templates.choose(/*tools=*/false));
  ThinkScores scores;
  int not_asked = 0;
  for (const ThinkTask& task : tasks) {
    ASSIGN_OR_RETURN(const Json line, run_task(*session, task, scores));
    if (line.contains("error")) ++not_asked;
    RETURN_IF_ERROR(write_line(line));
  }
  std::fputs(scores.table().c_str(), stderr);
  if (not_asked > 0) {
    std::fprintf(stderr, "%d of %zu tasks could not be asked: their lines say why\n", not_asked,
                 tasks.size());
  }
  return {};
}

}  // namespace cascade::eval
