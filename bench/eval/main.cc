// cascade-eval: quality and reference work without a daemon; JSON lines on standard output.
#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/number_types.h"
#include "base/random.h"
#include "bench/command_line.h"
#include "bench/eval/commands.h"

namespace cascade::eval {
namespace {

using bench::not_empty;

constexpr double kTemperatureMax = 100;  // the same limit as for a request

// CLI11 takes -1 for the largest number, and cuts larger ones.
CLI::Validator seed() {
  const auto check = [](const std::string& text) {
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem == std::errc() && stop == end) return std::string();
    return "must be a whole number from 0 to " + std::to_string(UINT64_MAX) + ", got " + text;
  };
  return CLI::Validator(check, "");
}

// CLI11's Range lets NaN through.
CLI::Validator temperature() {
  const auto check = [](const std::string& text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    const bool is_number = problem == std::errc() && stop == end;
    if (is_number && number >= 0 && number <= kTemperatureMax) return std::string();
    return "must be a number from 0 to 100, got " + text;
  };
  return CLI::Validator(check, "");
}

void add_session_options(CLI::App* command, SessionOptions& options) {
  command->add_option("--model", options.model_dir, "folder of the model, or a GGUF file")
      ->check(not_empty())
      ->required();
  command->add_option("--weights", options.weights, "auto, " + std::string(kWeightTypeNames))
      ->capture_default_str();
  command->add_option("--kv", options.kv, "f32, bf16, fp16, fp8 or int8")->capture_default_str();
  command->add_option("--isa", options.isa,
                      "scalar, avx2, avx512, avx512vnni, neon or openblas (default: best)");
  command->add_option("--state-dir", options.state_dir,
                      "where packed weights are kept (default: nowhere)");
  command->add_option("--rope-scaling", options.rope_scaling,
                      "yarn:FACTOR or linear:FACTOR, either with :ORIGINAL (default: the model's)");
  command->add_option("--threads", options.threads, "threads (default: all cores)")
      ->check(CLI::Range(1, 256));
}

void add_attention(CLI::App* command, SessionOptions& options) {
  command
      ->add_option(
          "--attention", options.attention,
          "dense; window:W:S: a token sees the W latest tokens and the first S (window is "
          "window:4096:64); select:B:D: in layers after the first D, a token sees B tokens "
          "whose pages fit best, and the latest ones (select is select:4096:0)")
      ->capture_default_str();
}

void add_input(CLI::App* command, std::string& input, const char* what) {
  command->add_option("--input", input, what)->required();
}

struct AllOptions {
  TextOptions text;
  TemplateOptions chat_template;
  LogitsOptions logits;
  GenerateOptions generate;
  NllOptions nll;
  LongOptions long_tasks;
  ThinkOptions think;
  QualityOptions quality;
  IdentityOptions identity;
  EstimateOptions estimate;
  TensorsOptions tensors;
};

void add_text_commands(CLI::App& app, AllOptions& all, Status& status) {
  for (const bool forward : {true, false}) {
    auto* command = forward ? app.add_subcommand("tokenize", "turns texts into token ids")
                            : app.add_subcommand("detokenize", "turns token ids into texts");
    command->add_option("--model", all.text.model_dir, "folder of the model, or a GGUF file")
        ->check(not_empty())
        ->required();
    add_input(command, all.text.input,
              forward ? "JSON lines {\"text\": …}; - for standard input"
                      : "JSON lines {\"ids\": […]}; - for standard input");
    command->callback(
        [&, forward] { status = forward ? tokenize(all.text) : detokenize(all.text); });
  }
  auto* render = app.add_subcommand("template", "renders a chat template");
  auto* model = render->add_option("--model", all.chat_template.model_dir,
                                   "folder of the model, or a GGUF file");
  model->check(not_empty());
  render->add_option("--template", all.chat_template.template_file, "a Jinja file")
      ->check(not_empty())
      ->excludes(model);
  add_input(render, all.chat_template.input,
            "a JSON object of variables, or a list of {\"input\": variables}");
  all.chat_template.now_unix_s = std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
  render->add_option(
      "--now", all.chat_template.now_unix_s,
      "Unix time that the template's strftime_now uses (default: now), so that results can be "
      "repeated");
  render->callback([&] { status = render_template(all.chat_template); });
}

void add_model_commands(CLI::App& app, AllOptions& all, Status& status) {
  auto* logits_command =
      app.add_subcommand("logits", "prints losses and last logits of token sequences");
  add_session_options(logits_command, all.logits.session);
  add_input(logits_command, all.logits.input, "JSON lines {\"ids\": […]}; - for standard input");
  logits_command->add_option("--slice", all.logits.slice, "tokens per forward pass (0: all)")
      ->check(CLI::Range(0, 1 << 24));
  logits_command->callback([&] { status = logits(all.logits); });

  auto* generate_command = app.add_subcommand("generate", "continues prompts");
  add_session_options(generate_command, all.generate.session);
  add_input(generate_command, all.generate.input,
            "JSON lines {\"ids\": […]} or {\"text\": …}; - for standard input");
  generate_command->add_option("--max-tokens", all.generate.max_tokens, "tokens to sample")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  generate_command->add_option("--temperature", all.generate.temperature, "0: most likely token")
      ->check(temperature());
  generate_command->add_option("--seed", all.generate.seed, "seed of the random draws")
      ->check(seed());
  generate_command->add_flag("--ignore-eos", all.generate.ignore_eos, "go on after end tokens");
  generate_command->callback([&] { status = generate(all.generate); });

  auto* nll_command = app.add_subcommand("nll", "measures the perplexity of a text");
  add_session_options(nll_command, all.nll.session);
  add_attention(nll_command, all.nll.session);
  nll_command->add_option("--text", all.nll.text_file, "the text")->required();
  nll_command->add_option("--window", all.nll.window, "tokens per window")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  nll_command
      ->add_option("--windows", all.nll.windows_max, "the largest number of windows (0: all)")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  nll_command->callback([&] { status = nll(all.nll); });
}

void add_long(CLI::App& app, LongOptions& options, Status& status) {
  auto* command = app.add_subcommand("long", "asks questions about long contexts");
  add_session_options(command, options.session);
  add_attention(command, options.session);
  bench::add_spill_options(command, options.session.kv_memory, options.session.spill_dir);
  command
      ->add_option("--tasks", options.tasks,
                   "JSON lines {\"id\", \"kind\", \"tokens\", \"messages\", \"answer\"}; - for "
                   "standard input")
      ->required();
  command->add_option("--compare", options.compared,
                      "further attention modes that answer, too; their predictions are compared "
                      "with those of --attention");
  command->callback([&] { status = answer_long_tasks(options); });
}

void add_think(CLI::App& app, ThinkOptions& options, Status& status) {
  auto* command = app.add_subcommand(
      "think",
      "compares the think policies by the answers to a question after a turn with thoughts");
  add_session_options(command, options.session);
  command
      ->add_option("--tasks", options.tasks,
                   "JSON lines {\"id\", \"kind\", \"messages\", \"thought\", \"reply\", "
                   "\"question\", \"answer\"}; - for standard input")
      ->required();
  command->callback([&] { status = compare_think_policies(options); });
}

void add_proof_commands(CLI::App& app, AllOptions& all, Status& status) {
  auto* quality_command = app.add_subcommand(
      "quality", "measures how far the number types of weights and KV deviate from f32");
  add_session_options(quality_command, all.quality.session);
  quality_command->add_option("--text", all.quality.text_file, "the text")
      ->check(not_empty())
      ->required();
  quality_command->add_option("--window", all.quality.window, "tokens per window")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  quality_command
      ->add_option("--positions", all.quality.positions, "how many predictions to compare")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  quality_command->add_flag("--same-values", all.quality.same_values,
                            "compare with the values that the weights are rounded to, in f32: what "
                            "the arithmetic costs");
  quality_command->callback([&] { status = quality(all.quality); });

  IdentityOptions& options = all.identity;
  auto* identity_command =
      app.add_subcommand("identity", "proves that bits do not depend on how work is arranged");
  add_session_options(identity_command, options.session);
  add_attention(identity_command, options.session);
  identity_command->remove_option(identity_command->get_option("--threads"));
  identity_command
      ->add_option("--threads-max", options.session.threads,
                   "the most threads of a case (default: all cores)")
      ->check(CLI::Range(1, 256));
  auto* cases = identity_command->add_option("--cases", options.cases, "random cases");
  cases->check(CLI::Range(1, 1'000'000))->capture_default_str();
  options.seed = system_random() >> 11;  // only whole numbers that all JSON readers keep
  auto* run_seed = identity_command->add_option("--seed", options.seed,
                                                "seed of the cases (default: a new one)");
  run_seed->check(seed());
  identity_command
      ->add_option("--case-seed", options.case_seed,
                   "repeats the case with this seed, which a run printed")
      ->check(seed())
      ->excludes(cases)
      ->excludes(run_seed);
  identity_command
      ->add_option("--tokens-max", options.tokens_max,
                   "the largest number of tokens of a case (default: 9000, or the model's "
                   "context if less)")
      ->check(CLI::Range(1, 1 << 24));
  identity_command->add_flag("--trace", options.trace,
                             "prints statistics of each layer for the first case that differs; "
                             "with --case-seed, for that case");
  identity_command->callback([&] { status = identity(options); });
}

void add_estimate(CLI::App& app, EstimateOptions& options, Status& status) {
  auto* command = app.add_subcommand(
      "estimate", "says before loading how much memory a model needs, with the daemon's defaults");
  add_session_options(command, options.session);
  command->remove_option(command->get_option("--state-dir"));
  command
      ->add_option("--tokens", options.tokens,
                   "lengths of a sequence (default: several, up to the model's context)")
      ->delimiter(',');
  bench::add_kv_memory(command, options.session.kv_memory,
                       "the most memory for K and V, as the daemon's kv_memory; the rest is on "
                       "disk (default: as the daemon's)");
  command->add_flag("--json", options.json, "prints a JSON object for each length, not a table");
  command->add_option("--sequences", options.sequences, "how many sequences, which share no pages")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24))
      ->capture_default_str();
  command->callback([&] { status = estimate(options); });
}

void add_tensors(CLI::App& app, TensorsOptions& options, Status& status) {
  auto* command =
      app.add_subcommand("tensors", "lists the tensors of a GGUF file and their digests");
  command->add_option("--model", options.model, "GGUF file")->check(not_empty())->required();
  command->callback([&] { status = tensors(options); });
}

int run(int argc, char** argv) {
  CLI::App app("Reference and quality work on a model, without a daemon.", "cascade-eval");
  app.footer("Exit codes: 0 done; 1 failed; 2 the command line is wrong.");
  app.require_subcommand(1);
  AllOptions all;
  Status status;
  add_text_commands(app, all, status);
  add_model_commands(app, all, status);
  add_long(app, all.long_tasks, status);
  add_think(app, all.think, status);
  add_proof_commands(app, all, status);
  add_estimate(app, all.estimate, status);
  add_tensors(app, all.tensors, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return bench::explain(app, error);
  }
  return bench::finish(app, status);
}

}  // namespace
}  // namespace cascade::eval

int main(int argc, char** argv) {
  // Ignores the signal, so that writing beyond a limit of file sizes is an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return cascade::eval::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cascade-eval: %s\n", error.what());
    return 1;
  }
}
