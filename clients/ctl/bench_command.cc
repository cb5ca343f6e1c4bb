// The figures are those that the daemon gives for each request; for a batch, the time until all
// requests are done.
#include "clients/ctl/bench_command.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <sstream>

#include "base/counted.h"
#include "base/random.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/run.h"

namespace cascade::ctl {
namespace {

// A first guess: a number and its blank have this many tokens or more in most vocabularies.
constexpr int32_t kTokensANumber = 4;
constexpr double kUsPerS = 1e6, kUsPerMs = 1e3;

// The values of one figure, one per repetition.
struct Samples {
  std::vector<double> values;
  void add(double value) { values.push_back(value); }
  double median() const {
    if (values.empty()) return 0;
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

struct Figures {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;  // tokens that were reused when the prompt was sent again
  Samples first_token_ms, prefill_tokens_per_s, decode_tokens_per_s;
  Samples again_first_token_ms;
  Samples batch_tokens_per_s;
};

// A prompt whose beginning nobody has sent before.
std::string new_prompt(int32_t numbers) {
  std::string text;
  for (int32_t i = 0; i < std::max(numbers, 1); ++i) {
    text += std::to_string(system_random() % 1'000'000) + " ";
  }
  return text;
}

wire::GenerateRequest bench_request(std::string prompt, int32_t tokens) {
  wire::GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = tokens;
  request.sampling.temperature = 0;
  request.ignore_eos = true;
  return request;
}

double per_s(int64_t tokens, int64_t us) {
  return us > 0 ? static_cast<double>(tokens) * kUsPerS / static_cast<double>(us) : 0;
}

class Bench {
 public:
  Bench(client::Client& client, const BenchOptions& options, const std::atomic<bool>* cancel)
      : client_(client), options_(options), cancel_(cancel) {}

  // Finds how many numbers give a prompt of about the wanted number of tokens.
  Status calibrate() {
    const int32_t guess = std::max(options_.prompt_tokens / kTokensANumber, 1);
    ASSIGN_OR_RETURN(const client::Generation one, generate(new_prompt(guess), 1));
    numbers_ = static_cast<int32_t>(int64_t{guess} * options_.prompt_tokens /
                                    std::max<int64_t>(one.usage.prompt_tokens, 1));
    return {};
  }

  Status measure(Figures& figures) {
    const std::string prompt = new_prompt(numbers_);
    ASSIGN_OR_RETURN(const client::Generation cold, generate(prompt, options_.tokens));
    figures.prompt_tokens = cold.usage.prompt_tokens;
    figures.first_token_ms.add(static_cast<double>(cold.timings.first_token_us) / kUsPerMs);
    figures.prefill_tokens_per_s.add(per_s(cold.usage.prefilled_tokens, cold.timings.prefill_us));
    if (cold.usage.completion_tokens > 1) {
      figures.decode_tokens_per_s.add(
          per_s(cold.usage.completion_tokens - 1, cold.timings.decode_us));
    }
    ASSIGN_OR_RETURN(const client::Generation again, generate(prompt, 1));
    figures.reused_tokens = again.usage.reused_tokens;
    figures.again_first_token_ms.add(static_cast<double>(again.timings.first_token_us) / kUsPerMs);
    return measure_batch(figures);
  }

 private:
  Result<client::Generation> generate(std::string prompt, int32_t tokens) {
    auto done = client_.generate(bench_request(std::move(prompt), tokens), {}, cancel_);
    if (done.ok() && done->finish_reason == "cancelled") {
      return Error{ErrorCode::kCancelled, "", "interrupted"};
    }
    return done;
  }

  // Prompts are short, because this measures the speed of the answers.
  Status measure_batch(Figures& figures) {
    std::vector<wire::GenerateRequest> requests;
    for (int32_t i = 0; i < options_.batch; ++i) {
      requests.push_back(bench_request(new_prompt(1), options_.tokens));
    }
    const auto from = std::chrono::steady_clock::now();
    int64_t tokens = 0;
    for (const auto& done : client_.generate_batch(std::move(requests), {}, cancel_)) {
      if (!done.ok()) return done.error();
      if (done->finish_reason == "cancelled") {
        return Error{ErrorCode::kCancelled, "", "interrupted"};
      }
      tokens += done->usage.completion_tokens;
    }
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - from);
    figures.batch_tokens_per_s.add(per_s(tokens, us.count()));
    return {};
  }

  client::Client& client_;
  const BenchOptions& options_;
  const std::atomic<bool>* cancel_;
  int32_t numbers_ = 1;
};

std::string number(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(value < 10 ? 2 : value < 100 ? 1 : 0) << value;
  return text.str();
}

void print_figures(Screen& screen, const Figures& figures, const BenchOptions& options) {
  if (screen.json) {
    OrderedJson object;
    object["prompt_tokens"] = figures.prompt_tokens;
    object["first_token_ms"] = figures.first_token_ms.median();
    object["prefill_tokens_per_s"] = figures.prefill_tokens_per_s.median();
    object["decode_tokens_per_s"] = figures.decode_tokens_per_s.median();
    object["again_reused_tokens"] = figures.reused_tokens;
    object["again_first_token_ms"] = figures.again_first_token_ms.median();
    object["batch"] = options.batch;
    object["batch_tokens_per_s"] = figures.batch_tokens_per_s.median();
    object["repeat"] = options.repeat;
    return print_json(screen, object);
  }
  const auto line = [&](const std::string& what, const std::string& value) {
    screen.out << std::left << std::setw(46) << what << value << '\n';
  };
  line("a new prompt of " + counted(figures.prompt_tokens, "token"),
       number(figures.first_token_ms.median()) + " ms to the first token, " +
           number(figures.prefill_tokens_per_s.median()) + " tokens/s");
  line("the same again, " + counted(figures.reused_tokens, "token") + " reused",
       number(figures.again_first_token_ms.median()) + " ms to the first token");
  line("one answer", number(figures.decode_tokens_per_s.median()) + " tokens/s");
  line(counted(options.batch, "answer") + " at once",
       number(figures.batch_tokens_per_s.median()) + " tokens/s in all");
  screen.out << std::flush;
}

}  // namespace

int run_bench(client::Client& client, Screen& screen, const BenchOptions& options) {
  const InterruptGuard guard;
  clear_interrupt();
  Bench bench(client, options, &interrupted());
  Figures figures;
  Status done = bench.calibrate();
  for (int32_t i = 0; done.ok() && i < options.repeat; ++i) {
    if (screen.terminal) screen.err << "\r" << i + 1 << " of " << options.repeat << std::flush;
    done = bench.measure(figures);
  }
  if (screen.terminal) screen.err << "\r          \r" << std::flush;
  if (!done.ok()) {
    print_error(screen, done.error());
    return exit_code_of(done.error());
  }
  print_figures(screen, figures, options);
  return kExitOk;
}

}  // namespace cascade::ctl
