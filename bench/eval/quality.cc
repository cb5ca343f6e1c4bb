// quality: how much weights and KV of fewer bits cost, compared with f32 of the same model.
#include <algorithm>

#include "bench/eval/commands.h"
#include "bench/eval/divergence.h"
#include "bench/eval/documents.h"
#include "bench/eval/json_lines.h"

namespace cascade::eval {
namespace {

// The number of tokens of a slice, which both models take in turn; and the number of rows of logits
// that each model has at once: tens of MB with the largest vocabularies.
constexpr int kSliceTokens = 512;
constexpr int kComparedRows = 32;

// Two models that predict the same text.
struct Pair {
  std::shared_ptr<ThreadPool> pool;
  std::unique_ptr<Session> reference;
  std::unique_ptr<Session> tested;
};

Result<Pair> open_pair(const SessionOptions& options, bool same_values) {
  // Mistakes in the options are reported before a model is loaded.
  RETURN_IF_ERROR(model_options_of(options));
  Pair pair;
  pair.pool = make_pool(options);
  SessionOptions exact = options;
  exact.weights = exact.kv = "f32";
  ASSIGN_OR_RETURN(pair.tested, Session::open(options, pair.pool));
  const Weights& weights = pair.tested->model().weights;
  ASSIGN_OR_RETURN(pair.reference, same_values
                                       ? Session::open_with_values_of(weights, exact, pair.pool)
                                       : Session::open(exact, pair.pool));
  return pair;
}

// Appends `inputs` to both models, and adds one divergence for each position; next[i] is the token
// that came after inputs[i].
Status compare_slice(const Pair& pair, std::span<const int32_t> inputs,
                     std::span<const int32_t> next, std::vector<Divergence>& positions) {
  ASSIGN_OR_RETURN(const auto reference_hidden, pair.reference->append(inputs));
  ASSIGN_OR_RETURN(const auto tested_hidden, pair.tested->append(inputs));
  const ModelConfig& config = pair.reference->model().config;
  const size_t vocab = config.vocab_size, width = config.hidden_size;
  std::vector<float> reference(kComparedRows * vocab), tested(kComparedRows * vocab);
  for (size_t begin = 0; begin < inputs.size(); begin += kComparedRows) {
    const int rows = static_cast<int>(std::min<size_t>(kComparedRows, inputs.size() - begin));
    pair.reference->logits(reference_hidden.data() + begin * width, rows, reference.data());
    pair.tested->logits(tested_hidden.data() + begin * width, rows, tested.data());
    const size_t first = positions.size();
    positions.resize(first + rows);
    pair.pool->run(rows, [&](int row, int) {
      const size_t at = row * vocab;
      positions[first + row] =
          divergence_of(std::span(reference).subspan(at, vocab),
                        std::span(tested).subspan(at, vocab), next[begin + row]);
    });
  }
  return {};
}

Result<std::vector<Divergence>> compare(const Pair& pair, std::span<const int32_t> ids,
                                        const QualityOptions& options) {
  std::vector<Divergence> positions;
  for (int done = 0; done < options.positions;) {
    if (done % options.window == 0) {
      pair.reference->clear();
      pair.tested->clear();
    }
    const int window_left = options.window - done % options.window;
    const int take = std::min({kSliceTokens, window_left, options.positions - done});
    RETURN_IF_ERROR(
        compare_slice(pair, ids.subspan(done, take), ids.subspan(done + 1, take), positions));
    done += take;
  }
  if (std::ranges::all_of(positions, &Divergence::finite)) return positions;
  return data_corrupt("logits", "are not finite: the model's weights are damaged");
}

}  // namespace

Status quality(const QualityOptions& options) {
  ASSIGN_OR_RETURN(const Pair pair, open_pair(options.session, options.same_values));
  const Model& model = pair.tested->model();
  const int context = model.config.context_tokens_max;
  if (options.window > context) {
    return invalid_argument("--window", "must be from 1 to " + std::to_string(context) +
                                            " (the model's context), got " +
                                            std::to_string(options.window));
  }
  ASSIGN_OR_RETURN(const auto ids, read_documents(options.text_file, model));
  if (ids.size() <= static_cast<size_t>(options.positions)) {
    return invalid_argument(options.text_file, "has " + std::to_string(ids.size()) +
                                                   " tokens; --positions " +
                                                   std::to_string(options.positions) + " needs " +
                                                   std::to_string(options.positions + 1) +
                                                   ": take a longer text, or fewer positions (" +
                                                   std::to_string(ids.size() - 1) + " at most)");
  }
  ASSIGN_OR_RETURN(const auto positions, compare(pair, ids, options));
  const DivergenceSummary summary = summarize(positions);
  return write_line({{"model", model.name},
                     {"text", options.text_file},
                     {"weights", weight_types(model)},
                     {"kv", to_string(model.options.kv_type)},
                     {"reference", options.same_values ? "the same values" : "the model"},
                     {"isa", to_string(model.options.isa)},
                     {"threads", pair.pool->threads()},
                     {"window", options.window},
                     {"positions", positions.size()},
                     {"mean_kl", summary.mean_kl},
                     {"mean_kl_standard_error", summary.mean_kl_standard_error},
                     {"p99_kl", summary.p99_kl},
                     {"max_kl", summary.max_kl},
                     {"top1_agreement", summary.top1_agreement},
                     {"perplexity_reference", summary.perplexity_reference},
                     {"perplexity", summary.perplexity},
                     {"perplexity_change_percent", summary.perplexity_change_percent},
                     {"perplexity_change_standard_error_percent",
                      summary.perplexity_change_standard_error_percent}});
}

}  // namespace cascade::eval
