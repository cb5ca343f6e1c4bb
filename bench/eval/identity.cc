// identity: computes each random case in two ways. It goes on after a difference, and names the
// first difference that it found.
#include <algorithm>

#include "bench/eval/commands.h"
#include "bench/eval/identity_run.h"
#include "bench/eval/json_lines.h"
#include "bench/eval/trace.h"

namespace cascade::eval {
namespace {

// More than eight splits of 1,024 keys: enough for every path, and 200 cases still take only a
// minute.
constexpr int kTokensDefault = 9000;

// Counts over all cases.
struct Totals {
  int64_t cases = 0, cases_different = 0;
  int64_t tokens = 0, pages = 0, logits = 0, differences = 0;
  int64_t reused_tokens = 0, mates = 0, sharing_mates = 0;
  int64_t selected_tokens = 0;  // of the sequences

  void add(const IdentityCase& drawn, const IdentityRun& reference, const IdentityRun& variant,
           const Comparison& comparison) {
    ++cases;
    cases_different += comparison.differences > 0 ? 1 : 0;
    tokens += static_cast<int64_t>(drawn.ids.size());
    pages += static_cast<int64_t>(variant.pages.size());
    logits += static_cast<int64_t>(variant.logits.size());
    differences += comparison.differences;
    reused_tokens += drawn.prefix;
    mates += static_cast<int64_t>(drawn.mates.size());
    sharing_mates += variant.sharing_mates;
    selected_tokens += reference.selected_tokens;
  }
};

struct FirstDifferent {
  int64_t index = 0;
  uint64_t seed = 0;
  Difference place;
};

Result<IdentityLimits> limits_of(const IdentityOptions& options, const Model& model, int threads) {
  const int context = model.config.context_tokens_max;
  if (options.tokens_max > context) {
    return invalid_argument("--tokens-max", "must be from 1 to " + std::to_string(context) +
                                                " (the model's context), got " +
                                                std::to_string(options.tokens_max));
  }
  IdentityLimits limits;
  limits.tokens_max =
      options.tokens_max > 0 ? options.tokens_max : std::min(context, kTokensDefault);
  limits.threads_max = threads;
  limits.vocab_size = model.config.vocab_size;
  limits.context_tokens_max = context;
  return limits;
}

Json describe(const IdentityCase& drawn) {
  return {{"case_seed", drawn.seed},
          {"tokens", drawn.ids.size()},
          {"outputs", drawn.outputs},
          {"reused_tokens", drawn.prefix},
          {"donor_slice", drawn.donor_slice},
          {"donor_threads", drawn.donor_threads},
          {"slice", drawn.slice},
          {"threads", drawn.threads},
          {"mates", drawn.mates.size()}};
}

// Repeats both runs and records the hidden states of each layer. Finds the first difference among
// these too, and writes their statistics if they are wanted.
Result<Comparison> look_closely(const Model& model, IdentityRunner& runner,
                                const IdentityCase& drawn, bool trace) {
  ASSIGN_OR_RETURN(const IdentityRun reference, runner.reference(drawn, /*record=*/true));
  ASSIGN_OR_RETURN(const IdentityRun variant, runner.variant(drawn, /*record=*/true));
  const auto tokens = static_cast<int64_t>(drawn.ids.size());
  if (trace) {
    RETURN_IF_ERROR(write_line({{"trace", describe(drawn)}}));
    auto lines = trace_of("reference", model.kv_layout, reference, tokens);
    std::ranges::move(trace_of("variant", model.kv_layout, variant, tokens),
                      std::back_inserter(lines));
    for (const Json& line : lines) RETURN_IF_ERROR(write_line(line));
  }
  return runner.compare(drawn, reference, variant);
}

Result<Totals> run_cases(const IdentityOptions& options, const Model& model,
                         const IdentityLimits& limits, const AttentionMode& attention,
                         std::optional<FirstDifferent>& first) {
  IdentityRunner runner(model, attention);
  Totals totals;
  const int64_t cases = options.case_seed ? 1 : options.cases;
  for (int64_t i = 0; i < cases; ++i) {
    const uint64_t seed =
        options.case_seed ? *options.case_seed : case_seed(options.seed, static_cast<uint64_t>(i));
    const IdentityCase drawn = draw_case(seed, limits);
    ASSIGN_OR_RETURN(const IdentityRun reference, runner.reference(drawn, /*record=*/false));
    ASSIGN_OR_RETURN(const IdentityRun variant, runner.variant(drawn, /*record=*/false));
    const Comparison comparison = runner.compare(drawn, reference, variant);
    totals.add(drawn, reference, variant, comparison);
    const bool is_first = comparison.first && !first;
    if (!is_first && !(options.trace && cases == 1)) continue;
    ASSIGN_OR_RETURN(const Comparison closer, look_closely(model, runner, drawn, options.trace));
    // A difference that does not come again counts too: its place is then that of the first look.
    const std::optional<Difference>& place = closer.first ? closer.first : comparison.first;
    if (place && !first) first = FirstDifferent{i, seed, *place};
    if (closer.first && !comparison.first) {
      ++totals.cases_different;
      totals.differences += closer.differences;
    }
  }
  return totals;
}

}  // namespace

Status identity(const IdentityOptions& options) {
  ASSIGN_OR_RETURN(const ModelOptions model_options, model_options_of(options.session));
  ASSIGN_OR_RETURN(const AttentionMode attention, attention_of(options.session));
  const std::shared_ptr<ThreadPool> pool = make_pool(options.session);
  ASSIGN_OR_RETURN(const auto model, load_model(options.session.model_dir, model_options, *pool));
  // A file of packed weights is completed, however short the run is.
  if (model->weights.keeper != nullptr) model->weights.keeper->wait();
  ASSIGN_OR_RETURN(const IdentityLimits limits, limits_of(options, *model, pool->threads()));
  std::optional<FirstDifferent> first;
  ASSIGN_OR_RETURN(const Totals totals, run_cases(options, *model, limits, attention, first));
  Json line = {{"model", model->name},
               {"weights", weight_types(*model)},
               {"kv", to_string(model_options.kv_type)},
               {"isa", to_string(model_options.isa)},
               {"attention", to_string(attention)},
               {"threads_max", limits.threads_max},
               {"tokens_max", limits.tokens_max},
               {"cases", totals.cases},
               {"tokens_compared", totals.tokens},
               {"pages_compared", totals.pages},
               {"logits_compared", totals.logits},
               {"selected_tokens", totals.selected_tokens},
               {"reused_tokens", totals.reused_tokens},
               {"mates", totals.mates},
               {"mates_sharing_pages", totals.sharing_mates},
               {"cases_different", totals.cases_different},
               {"differences", totals.differences}};
  if (options.case_seed) {
    line["case_seed"] = *options.case_seed;
  } else {
    line["seed"] = options.seed;
  }
  if (!first) return write_line(line);
  line["first"] = first->place.to_json();
  line["first"]["case"] = first->index;
  line["first"]["case_seed"] = first->seed;
  RETURN_IF_ERROR(write_line(line));
  return Error{ErrorCode::kInternal, "case " + std::to_string(first->index),
               first->place.to_string() + " (repeat it: --case-seed " +
                   std::to_string(first->seed) + " --tokens-max " +
                   std::to_string(limits.tokens_max) + " --threads-max " +
                   std::to_string(limits.threads_max) + ")"};
}

}  // namespace cascade::eval
