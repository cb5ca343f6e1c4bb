// logits, generate, nll: the forward pass against a reference.
#include <algorithm>
#include <cmath>

#include "base/base64.h"
#include "bench/eval/commands.h"
#include "bench/eval/documents.h"
#include "bench/eval/json_lines.h"

namespace cascade::eval {
namespace {

Result<std::vector<int32_t>> some_ids_of(const InputLine& line, int64_t vocab_size) {
  ASSIGN_OR_RETURN(auto ids, ids_of(line, vocab_size));
  if (ids.empty()) return invalid_argument(line.field("ids"), "must not be empty");
  return ids;
}

Result<std::vector<int32_t>> prompt_of(const InputLine& line, const Model& model) {
  if (line.object.contains("ids")) return some_ids_of(line, model.config.vocab_size);
  if (!line.object.contains("text")) {
    return invalid_argument("line " + std::to_string(line.number), "needs \"ids\" or \"text\"");
  }
  ASSIGN_OR_RETURN(const std::string text, string_of(line, "text"));
  ASSIGN_OR_RETURN(auto ids,
                   model.tokenizer.encode(text, /*trusted=*/true, /*with_template=*/true));
  if (ids.empty()) return invalid_argument(line.field("text"), "has no tokens");
  return ids;
}

Status fits(const InputLine& line, std::span<const int32_t> ids, const Model& model) {
  const auto context = static_cast<size_t>(model.config.context_tokens_max);
  if (ids.size() <= context) return {};
  return invalid_argument("line " + std::to_string(line.number),
                          "has " + std::to_string(ids.size()) +
                              " tokens; the model's context holds " + std::to_string(context));
}

}  // namespace

Status logits(const LogitsOptions& options) {
  ASSIGN_OR_RETURN(const auto session, Session::open(options.session));
  ASSIGN_OR_RETURN(const std::vector<InputLine> lines, read_json_lines(options.input));
  const Model& model = session->model();
  for (const InputLine& line : lines) {
    ASSIGN_OR_RETURN(const auto ids, some_ids_of(line, model.config.vocab_size));
    std::vector<double> losses;
    std::string last;
    bool finite = true;
    session->clear();
    RETURN_IF_ERROR(fits(line, ids, model));
    RETURN_IF_ERROR(session->append(
        ids, options.slice, static_cast<int>(ids.size()), [&](size_t i, std::span<float> row) {
          finite = finite && std::ranges::all_of(row, [](float x) { return std::isfinite(x); });
          if (i + 1 < ids.size()) {
            losses.push_back(negative_log_likelihood(*model.kernels, row, ids[i + 1]));
          } else {
            last = base64_encode({reinterpret_cast<const uint8_t*>(row.data()), row.size_bytes()});
          }
        }));
    if (!finite) return data_corrupt("logits", "are not finite: the model's weights are damaged");
    RETURN_IF_ERROR(write_line({{"nll", losses}, {"last_logits", last}}));
  }
  return {};
}

Status generate(const GenerateOptions& options) {
  ASSIGN_OR_RETURN(const auto session, Session::open(options.session));
  ASSIGN_OR_RETURN(const std::vector<InputLine> lines, read_json_lines(options.input));
  const Model& model = session->model();
  SamplerParams params;
  params.temperature = options.temperature;
  params.seed = options.seed;
  for (const InputLine& line : lines) {
    ASSIGN_OR_RETURN(const auto prompt, prompt_of(line, model));
    std::vector<int32_t> sampled;
    Status problem;
    const auto choose = [&](size_t, std::span<float> row) {
      const auto next = sample(row, params, {}, session->length(), *model.kernels);
      if (next.ok()) {
        sampled.push_back(next->token);
      } else {
        problem = next.error();
      }
    };
    session->clear();
    RETURN_IF_ERROR(fits(line, prompt, model));
    RETURN_IF_ERROR(session->append(prompt, 0, 1, choose));
    const auto& ends = model.generation.end_tokens;
    const int64_t context = model.config.context_tokens_max;
    while (problem.ok() && static_cast<int>(sampled.size()) < options.max_tokens &&
           session->length() < context) {
      const bool ended = std::ranges::find(ends, sampled.back()) != ends.end();
      if (ended && !options.ignore_eos) break;
      RETURN_IF_ERROR(session->append(std::vector<int32_t>{sampled.back()}, 0, 1, choose));
    }
    RETURN_IF_ERROR(problem);
    RETURN_IF_ERROR(
        write_line({{"ids", sampled}, {"text", model.tokenizer.decode(sampled, true)}}));
  }
  return {};
}

Status nll(const NllOptions& options) {
  ASSIGN_OR_RETURN(const auto session, Session::open(options.session));
  const Model& model = session->model();
  ASSIGN_OR_RETURN(const auto ids, read_documents(options.text_file, model));
  // A window is an input of `window` tokens; the token after it is predicted as well.
  const int whole = (static_cast<int>(ids.size()) - 1) / options.window;
  const int windows = options.windows_max > 0 ? std::min(whole, options.windows_max) : whole;
  if (windows == 0) return invalid_argument(options.text_file, "is shorter than one window");
  std::vector<double> sums;
  double total = 0;
  for (int w = 0; w < windows; ++w) {
    const auto window = std::span(ids).subspan(size_t(w) * options.window, options.window);
    double sum = 0;
    session->clear();
    RETURN_IF_ERROR(session->append(window, 0, options.window, [&](size_t i, std::span<float> row) {
      const int32_t next = ids[size_t(w) * options.window + i + 1];
      sum += negative_log_likelihood(*model.kernels, row, next);
    }));
    sums.push_back(sum);
    total += sum;
  }
  const int64_t predicted = int64_t{windows} * options.window;
  RETURN_IF_ERROR(write_line({{"attention", to_string(session->attention())},
                              {"selected_tokens", session->selected_tokens()},
                              {"window", options.window},
                              {"windows", windows},
                              {"nll_sum", sums},
                              {"nll_total", total},
                              {"predicted", predicted},
                              {"ppl", std::exp(total / static_cast<double>(predicted))},
                              {"n_ids", ids.size()}}));
  return {};
}

}  // namespace cascade::eval
