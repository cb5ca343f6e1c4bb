// Parses the command line with CLI11.
#include "clients/ctl/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>
#include <span>

#include "base/utf8.h"
#include "clients/cpp/endpoint.h"
#include "clients/ctl/chat_options.h"
#include "clients/ctl/chunk_options.h"
#include "clients/ctl/command_line_error.h"
#include "clients/ctl/grammar_options.h"
#include "clients/ctl/help_formatter.h"
#include "clients/ctl/model_options.h"
#include "clients/ctl/number_options.h"
#include "clients/ctl/offline_options.h"
#include "clients/ctl/run.h"
#include "clients/ctl/screen.h"
#include "clients/ctl/session_options.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/text_input.h"
#include "clients/ctl/watch_options.h"
#include "wire/request_rules.h"

namespace cascade::ctl {
namespace {

// The values that CLI11 fills in and that become Options afterwards.
struct Parsed {
  Options options;
  std::string query_argument;
  std::string query_option;
  std::vector<std::string> texts, files, chunks;
  CLI::App* status = nullptr;
  CLI::App* generate = nullptr;
  CLI::App* chat = nullptr;
  ChunkCommands chunk;
  SessionCommands session;
  ModelCommands model;
  CLI::App* fsck = nullptr;
  CLI::App* backup = nullptr;
  CLI::App* key_new = nullptr;
  CLI::App* key_allow = nullptr;
  CLI::App* key_revoke = nullptr;
  WatchCommands watch;
  OfflineCommands offline;
};

// "42=-1.5": the id of a token, and the number that is added to its logit.
std::optional<wire::LogitBias> logit_bias_from(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  wire::LogitBias entry;
  const char* const middle = text.data() + equals;
  const char* const end = text.data() + text.size();
  const auto token = std::from_chars(text.data(), middle, entry.token);
  const auto bias = std::from_chars(middle + 1, end, entry.bias);
  const bool whole = token.ptr == middle && bias.ptr == end;
  if (token.ec != std::errc() || bias.ec != std::errc() || !whole) return std::nullopt;
  return entry;
}

CLI::Validator logit_bias() {
  const auto check = [](const std::string& value) {
    if (logit_bias_from(value).has_value()) return std::string();
    return "must be ID=BIAS, two numbers, got " + one_line(value);
  };
  return CLI::Validator(check, "");
}

void add_penalties(CLI::App& command, wire::SamplingParams& sampling) {
  const auto add = [&](const char* name, std::optional<double>& value, const char* help) {
    command.add_option(name, value, help)->check(decimal_number());
  };
  add("--repetition-penalty", sampling.repetition_penalty,
      "Penalty of tokens in prompt and answer; 1: none");
  add("--presence-penalty", sampling.presence_penalty, "Penalty of tokens in the answer (-2 to 2)");
  add("--frequency-penalty", sampling.frequency_penalty,
      "Penalty of tokens in the answer, for each time that they occur (-2 to 2)");
  const auto set_biases = [&sampling](const std::vector<std::string>& values) {
    for (const std::string& value : values) sampling.logit_bias.push_back(*logit_bias_from(value));
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--logit-bias", set_biases,
          "ID=BIAS: add BIAS (-100 to 100) to the logit of the token ID (repeatable)")
      ->check(logit_bias())
      ->allow_extra_args(false);
}

void add_thinking(CLI::App& command, wire::GenerateRequest& params) {
  CLI::Option* think = command.add_flag_callback(
      "--think", [&params] { params.thinking = true; }, "Ask the model to think");
  command
      .add_flag_callback(
          "--no-think", [&params] { params.thinking = false; }, "Ask the model not to think")
      ->excludes(think);
  command
      .add_option("--reasoning-effort", params.reasoning_effort,
                  "How much the model reasons, in its own words, such as low, medium or high "
                  "(default: the model's)")
      ->check(text());
  const auto set_policy = [&params](const std::string& name) {
    params.think_policy = think_policy_from_string(name);
  };
  command
      .add_option_function<std::string>(
          "--think-policy", set_policy,
          "What is kept of an output with thoughts (default: the daemon's)")
      ->check(CLI::IsMember({"reprefill", "keep", "drop", "splice", "mask"}));
  CLI::Option* heal = command.add_flag_callback(
      "--heal", [&params] { params.heal = true; },
      "With the policies splice and mask, make the KV exact in idle time");
  command
      .add_flag_callback(
          "--no-heal", [&params] { params.heal = false; },
          "Leave such KV approximate (default: the daemon's)")
      ->excludes(heal);
}

void add_sampling(CLI::App& command, wire::GenerateRequest& params) {
  wire::SamplingParams& sampling = params.sampling;
  command
      .add_option("--max-tokens", params.max_tokens,
                  "The most tokens that the answer may have (0: the daemon's default)")
      ->check(whole_number(INT32_MAX));
  const auto add = [&](const char* name, std::optional<double>& value, const char* help) {
    command.add_option(name, value, help)->check(decimal_number());
  };
  add("--temperature", sampling.temperature, "0: always the likeliest token");
  add("--top-p", sampling.top_p,
      "Sample from the likeliest tokens that together have this probability");
  command
      .add_option("--top-k", sampling.top_k,
                  "Sample from this many of the likeliest tokens (0: all)")
      ->check(whole_number(wire::kTopKMax));
  add("--min-p", sampling.min_p,
      "Leave out tokens whose probability is below this share of the likeliest token's");
  add_penalties(command, sampling);
  command.add_option("--seed", sampling.seed, "The same seed gives the same text")
      ->check(seed_number());
  command.add_option("--stop", params.stop, "End before this text (repeatable)")
      ->check(text())
      ->allow_extra_args(false);
  add_thinking(command, params);
  command
      .add_option("--attention", params.attention,
                  "What a token attends to: dense; window:W:S for W recent tokens and the first S; "
                  "select:B:D for pages with B tokens that are chosen for it in layers after the "
                  "first D; or "
                  "verify:B:D for dense after drafts with select (default: the daemon's)")
      ->check(text());
  command
      .add_option_function<std::string>(
          "--on-missing",
          [&params](const std::string& name) { params.on_missing = on_missing_from_string(name); },
          "What to do if an earlier turn or a named chunk no longer exists: error (the default) "
          "or skip")
      ->transform(CLI::IsMember({"error", "skip"}, CLI::ignore_case));
  const auto set_overflow = [&params](const std::string& name) {
    params.on_overflow = on_overflow_from_string(name);
  };
  command
      .add_option_function<std::string>(
          "--on-overflow", set_overflow,
          "What to do if the conversation is longer than its room: error; drop_oldest, which "
          "leaves out the oldest turns; retrieve, which also brings back the parts of them that "
          "answer the question best; or summarize, which puts summaries in their place (default: "
          "what the session did last, else error)")
      ->check(CLI::IsMember({"error", "drop_oldest", "retrieve", "summarize"}));
  command.add_flag_callback(
      "--no-reuse", [&params] { params.reuse = false; },
      "Compute the whole prompt, and reuse nothing");
  command.add_option("--timeout-ms", params.timeout_ms, "Give up after this time (0: never)")
      ->check(whole_number(INT64_MAX));
}

void add_generate(CLI::App& command, Parsed& parsed) {
  GenerateOptions& generate = parsed.options.generate;
  command.add_option("PROMPT", parsed.query_argument, "The question (else --query, else stdin)")
      ->check(text());
  command.add_option("--query", parsed.query_option, "The question")->check(text());
  command.add_option("--system", generate.system, "The system prompt")->check(text());
  command.add_option("--context", parsed.texts, "A text before the question (repeatable)")
      ->check(text())
      ->allow_extra_args(false);
  command
      .add_option("--context-file", parsed.files,
                  "A file (-: stdin) before the question (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option("--chunk", parsed.chunks,
                  "A chunk to use (context, output, system prompt or query), by its id or the "
                  "beginning of it (repeatable)")
      ->check(text())
      ->allow_extra_args(false);
  add_sampling(command, generate.params);
  command.add_flag("--ignore-eos", generate.params.ignore_eos, "Go on after end tokens");
  command.add_flag("--retain", generate.params.retain_output, "Keep the output as a chunk");
  add_retention_options(command, generate.params);
  add_grammar_options(command, generate.params);
  command.add_flag("--raw", generate.raw,
                   "Send the prompt unchanged, without the chat template; special tokens in it "
                   "are not recognised");
  command.add_flag("--logprobs", generate.params.logprobs,
                   "Print the log-probabilities of the tokens");
  command
      .add_option("--top-logprobs", generate.params.top_logprobs,
                  "With --logprobs and --json: for each token, also print the log-probabilities of "
                  "the N likeliest tokens (0 to 20)")
      ->check(whole_number(wire::kTopLogprobsMax));
  CLI::Option* session = add_session_option(command, generate.params.session);
  session->excludes("--raw");
  command
      .add_option("--previous-output", generate.params.previous_output,
                  "Continue the conversation whose last turn is this output")
      ->check(text())
      ->check(not_empty())
      ->excludes(session)
      ->excludes("--raw");
  CLI::Option* stream =
      command.add_flag("--stream", generate.stream,
                       "Print the answer as it comes, even if the output is not a terminal; with "
                       "--json: JSON lines");
  command
      .add_option(
          "--batch", generate.batch,
          "Answer the prompts of a file (-: stdin), one on each line: text, or a JSON object "
          "with \"query\" and other fields of the protocol's GenerateRequest")
      ->excludes(stream)
      ->excludes(session)
      ->excludes("--query")
      ->excludes("PROMPT");
}

// The commands of an operator for a state directory.
void add_upkeep(CLI::App& app, Parsed& parsed) {
  UpkeepOptions& upkeep = parsed.options.upkeep;
  parsed.fsck = app.add_subcommand("fsck", "Verify everything that a daemon keeps on disk");
  CLI::Option* repair =
      parsed.fsck->add_flag("--repair", upkeep.repair, "Remove what is damaged, and mend the rest");
  parsed.fsck
      ->add_flag("--rebuild", upkeep.rebuild,
                 "Make the database anew from its good rows and the KV files; no daemon may run")
      ->excludes(repair);
  parsed.backup = app.add_subcommand("backup", "Copy everything that a daemon keeps on disk");
  parsed.backup
      ->add_option("DIR", upkeep.directory,
                   "The folder for the copy, which becomes a state directory; it must be empty, or "
                   "not exist yet")
      ->check(text())
      ->required();
  for (CLI::App* command : {parsed.fsck, parsed.backup}) {
    command
        ->add_option("--state-dir", upkeep.state_dir,
                     "The state directory of a daemon, running or not (default: the one that "
                     "cascaded would use; with --endpoint: that of the daemon there)")
        ->check(text());
  }
}

void add_keys(CLI::App& key, Parsed& parsed) {
  key.require_subcommand(1);
  parsed.key_new = key.add_subcommand("new", "Make a key for a tenant; it is shown only once");
  KeyOptions& options = parsed.options.key;
  parsed.key_new->add_option("--tenant", options.tenant, "The tenant")->capture_default_str();
  parsed.key_new->add_option("--file", options.file, "The file of keys to which its hash is added")
      ->check(text());
  parsed.key_new->add_flag(
      "--curve", options.curve,
      "Make a key pair for TCP: write it to --file, which must not exist yet, and print the "
      "public key");
  parsed.key_allow = key.add_subcommand("allow", "Let a client with this public key use TCP");
  parsed.key_allow->add_option("KEY", options.key, "Its public key")->required();
  parsed.key_allow->add_option("--tenant", options.tenant, "Its tenant")->capture_default_str();
  parsed.key_allow->add_option("--file", options.file, "The file of cascaded --tcp-clients")
      ->required()
      ->check(text());
  parsed.key_revoke = key.add_subcommand("revoke", "Remove a key from a file of keys");
  parsed.key_revoke->add_option("KEY", options.key, "An API key, its hash, or a public key")
      ->required()
      ->check(text());
  parsed.key_revoke->add_option("--file", options.file, "The file")->required()->check(text());
  for (CLI::App* command : {parsed.key_new, parsed.key_allow, parsed.key_revoke}) {
    command->fallthrough();
  }
}

void add_commands(CLI::App& app, Parsed& parsed) {
  Options& options = parsed.options;
  app.add_option("--endpoint", options.endpoint,
                 "Where the daemon listens (default: $CASCADE_ENDPOINT, else the user's daemon, "
                 "else the system's)");
  app.add_option("--model-name", options.model,
                 "The model to use, one of `model list` (default: the daemon's default model)")
      ->check(text())
      ->transform(model_name());
  app.add_flag("--json", options.json, "Print JSON");
  parsed.status = app.add_subcommand("status", "Show what the daemon runs, holds and has done");
  parsed.generate = app.add_subcommand("generate", "Answer one prompt");
  add_generate(*parsed.generate, parsed);
  parsed.chat =
      app.add_subcommand("chat", "Hold a conversation; also reads commands and text from a pipe");
  add_chat_options(*parsed.chat, options.chat);
  add_sampling(*parsed.chat, options.chat.params);

  CLI::App* chunk =
      app.add_subcommand("chunk", "List, add, change and delete stored texts and outputs");
  parsed.chunk = add_chunk_commands(*chunk, options);
  CLI::App* session =
      app.add_subcommand("session", "Show and delete the conversations that the daemon keeps");
  CLI::App* policy = app.add_subcommand("policy", "Show and set how long chunks live by default");
  parsed.session = add_session_commands(*session, *policy, options);
  CLI::App* model = app.add_subcommand("model", "List, load and unload models");
  parsed.model = add_model_commands(*model, options.model_command);
  add_upkeep(app, parsed);
  CLI::App* key = app.add_subcommand("key", "Make and revoke keys of HTTP clients and TCP clients");
  add_keys(*key, parsed);
  parsed.watch = add_watch_commands(app, options.watch, options.bench);
  parsed.offline = add_offline_commands(app, options);
  for (CLI::App* command :
       {parsed.status, parsed.generate, parsed.chat, chunk, session, policy, model, parsed.fsck,
        parsed.backup, key, parsed.watch.events, parsed.watch.top, parsed.watch.stats,
        parsed.watch.bench, parsed.watch.doctor}) {
    command->fallthrough();  // --json and --endpoint may come after the command
  }
  app.require_subcommand(1);
}

// The contexts of all three options, in the order of the command line.
std::vector<ContextArgument> ordered_contexts(const Parsed& parsed) {
  using Kind = ContextArgument::Kind;
  struct Source {
    const CLI::Option* option;
    const std::vector<std::string>& values;
    Kind kind;
    size_t next;
  };
  const CLI::App& command = *parsed.generate;
  std::vector<Source> sources = {
      {command.get_option("--context"), parsed.texts, Kind::kText, 0},
      {command.get_option("--context-file"), parsed.files, Kind::kFile, 0},
      {command.get_option("--chunk"), parsed.chunks, Kind::kChunk, 0}};
  std::vector<ContextArgument> contexts;
  for (const CLI::Option* given : command.parse_order()) {
    for (Source& source : sources) {
      if (source.option != given || source.next == source.values.size()) continue;
      contexts.push_back({source.kind, source.values[source.next++]});
    }
  }
  return contexts;
}

// The option that reads standard input; empty if none does. Only one may.
std::string option_with_stdin(const CLI::App& generate) {
  std::string option;
  for (const char* name : {"--batch", "--context-file", "--json-schema", "--grammar"}) {
    for (const std::string& file : generate.get_option(name)->results()) {
      if (file != kStandardInput) continue;
      if (!option.empty()) {
        throw CLI::ValidationError(name, option + " already reads standard input");
      }
      option = name;
    }
  }
  return option;
}

Options::Command chosen(const Parsed& parsed) {
  using Command = Options::Command;
  if (parsed.generate->parsed()) return Command::kGenerate;
  if (parsed.chat->parsed()) return Command::kChat;
  if (parsed.fsck->parsed()) return Command::kFsck;
  if (parsed.backup->parsed()) return Command::kBackup;
  if (parsed.key_new->parsed()) return Command::kKeyNew;
  if (parsed.key_allow->parsed()) return Command::kKeyAllow;
  if (parsed.key_revoke->parsed()) return Command::kKeyRevoke;
  if (parsed.watch.events->parsed()) return Command::kEvents;
  if (parsed.watch.top->parsed()) return Command::kTop;
  if (parsed.watch.stats->parsed()) return Command::kChunkStats;
  if (parsed.watch.bench->parsed()) return Command::kBench;
  if (parsed.watch.doctor->parsed()) return Command::kDoctor;
  if (const auto command = chosen_of(parsed.offline)) return *command;
  if (const auto command = chosen_of(parsed.session)) return *command;
  if (const auto command = chosen_of(parsed.model)) return *command;
  return chosen_of(parsed.chunk).value_or(Command::kStatus);
}

}  // namespace

Status check_options(const Options& options) {
  using Command = Options::Command;
  if (options.command == Command::kChunkUpdate) {
    wire::ChunkUpdate update = options.update;
    update.id = "any";
    return wire::check_request(update);
  }
  if (options.command == Command::kChunkPut) {
    wire::ChunkPut put = options.put.put;
    if (put.token_ids.empty()) put.text = "any";
    return wire::check_request(put);
  }
  if (options.command == Command::kChunkSearch) {
    return wire::check_request(wire::ChunkSearch{options.search.query, options.search.limit});
  }
  if (options.command == Command::kSessionShow || options.command == Command::kSessionDelete) {
    return wire::check_request(wire::SessionGet{options.session.name});
  }
  if (options.command == Command::kPolicySet) return wire::check_request(options.policy);
  const bool chat = options.command == Command::kChat;
  if (!chat && options.command != Command::kGenerate) return {};
  if (!chat && options.generate.query == "") {
    return invalid_argument("PROMPT",
                            "is empty: write the question, or leave it out to read it from "
                            "standard input");
  }
  wire::GenerateRequest request = chat ? options.chat.params : options.generate.params;
  request.chunks = {{ChunkType::kQuery, "", "any"}};
  return wire::check_request(request);
}

std::variant<Options, int> parse_options(int argc, const char* const* argv, std::ostream& out) {
  CLI::App app("Talks to cascaded, the inference daemon that never throws work away.",
               "cascadectl");
  app.formatter(help_formatter());
  app.set_version_flag("--version", std::string("cascadectl ") + CASCADE_VERSION);
  app.footer(
      "Exit codes: 0 done; 1 the request failed, a command failed in a piped chat, or a check\n"
      "found a problem; 2 the command line, or what it asks for, is wrong; 3 no daemon answers;\n"
      "4 generate answered, but a token limit or the context's end cut the answer short.");
  Parsed parsed;
  add_commands(app, parsed);
  try {
    app.parse(argc, argv);
    const bool argument = parsed.generate->count("PROMPT") > 0;
    const bool option = parsed.generate->count("--query") > 0;
    if (argument && option) throw CLI::ExcludesError("PROMPT", "--query");
    parsed.options.generate.stdin_option = option_with_stdin(*parsed.generate);
    check_retention_options(*parsed.generate);
    check_chat_options(*parsed.chat, parsed.options.chat);
    Options& options = parsed.options;
    if (argument) options.generate.query = parsed.query_argument;
    if (option) options.generate.query = parsed.query_option;
  } catch (const CLI::ParseError& error) {
    const std::span arguments(argv, static_cast<size_t>(argc));
    const bool json = std::ranges::find(arguments, std::string_view("--json")) != arguments.end();
    return explain_command_line(app, error, json ? &out : nullptr);
  }
  parsed.options.command = chosen(parsed);
  if (parsed.options.command == Options::Command::kCompletion) {
    parsed.options.completion.words = words_of(app);
  }
  parsed.options.generate.contexts = ordered_contexts(parsed);
  parsed.options.endpoint_given =
      !parsed.options.endpoint.empty() || !client::endpoint_of_environment().empty();
  if (parsed.options.endpoint.empty()) parsed.options.endpoint = client::default_endpoint();
  return parsed.options;
}

}  // namespace cascade::ctl
