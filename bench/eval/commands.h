// The sub-commands of cascade-eval. Each writes JSON lines to standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/eval/session.h"

namespace cascade::eval {

struct TextOptions {
  std::string model_dir;
  std::string input;
};
// {"text": …} -> {"ids": […], "ids_with_special": […]}; special tokens in the text are recognised.
Status tokenize(const TextOptions& options);
// {"ids": […]} -> {"text": …, "text_skip_special": …}
Status detokenize(const TextOptions& options);

struct TemplateOptions {
  std::string model_dir;  // either this or template_file
  std::string template_file;
  std::string input;  // one JSON object of variables, or a list of {"input": variables, …}
  int64_t now_unix_s = 0;
};
// One input object gives the rendered text as it is. A list gives one line, {"output": …} or
// {"error": …}, for each element.
Status render_template(const TemplateOptions& options);

struct LogitsOptions {
  SessionOptions session;
  std::string input;
  int slice = 0;  // 0: all at once
};
// {"ids": […]} -> {"nll": […], "last_logits": base64 of f32}
Status logits(const LogitsOptions& options);

struct GenerateOptions {
  SessionOptions session;
  std::string input;
  int max_tokens = 16;
  double temperature = 0;
  uint64_t seed = 0;
  bool ignore_eos = false;
};
// {"ids": […]} or {"text": …} -> {"ids": […], "text": …}
Status generate(const GenerateOptions& options);

struct NllOptions {
  SessionOptions session;
  std::string text_file;
  int window = 2048;
  int windows_max = 24;  // 0: all
};
// The perplexity of a text, computed in windows -> one object. The text's documents are separated
// by a line with a NUL byte, and each ends with the model's end-of-text token.
Status nll(const NllOptions& options);

struct LongOptions {
  SessionOptions session;
  std::string tasks;
  std::vector<std::string> compared = {};  // attention modes
};
// {"id", "kind", "tokens", "messages", "answer"} -> {"id", "kind", "tokens", "prompt_tokens",
// "answer", "output", "correct", "selected_tokens", "seconds"}: asks the model without thoughts,
// and takes the most likely tokens up to an end token, at most 64. An answer is correct if it is
// `answer`, but for white space at the ends. A task that cannot be asked gets "error" in place of
// the last five, and the others go on. With modes to compare, each line also has "compared", an
// array of {"attention", "output", "correct", "selected_tokens", "seconds", "kl"}: the answers in
// these modes, and KL(session's mode || this mode) for each token of the session's answer. Tables
// of the correct answers by kind and length, and of the divergences by length, follow on standard
// error; a task with an error counts as not correct. Errors: kInvalidArgument, field "line 3:
// answer" or "--compare", before any task is asked; those of Session.
Status answer_long_tasks(const LongOptions& options);

struct ThinkOptions {
  SessionOptions session;
  std::string tasks;
};
// {"id", "kind", "messages", "thought", "reply", "question", "answer"} -> {"id", "kind",
// "prompt_tokens", "thought_tokens", "reply_tokens", "answer", "policies"}: gives the model a turn
// in which it thought and replied, deals with the thoughts as each think policy does, and has it
// answer the question with the most likely tokens, without thoughts.
//  - prompt_tokens: of the question's prompt, which has no thoughts; thought_tokens: with marks and
//    line ends around them.
//  - policies: an array of {"policy", "output", "as_expected", "equal", "ready_seconds",
//    "first_token_seconds", "kv_bytes", "kl"}, with `reprefill` first, which is exact.
//  - as_expected: the output is `answer`, but for white space at the ends; equal: it has the exact
//    one's tokens; kl: KL(exact || this policy) for each token of the exact answer.
//  - ready_seconds: from the reply's end until K and V of the history are in place;
//    first_token_seconds: from there to the first token; kv_bytes: of the pages with these K and V.
// A task that cannot be asked gets "error" in place of "answer" and "policies", and also of the
// numbers of tokens if the template does not allow it; the others go on. A table by kind and
// policy, without these tasks, follows on standard error, and then their number. Errors:
// kInvalidArgument, field "line 3: reply", before any task is asked; kUnsupported, field "--model",
// for recurrent layers or a model without think tokens; those of Session.
Status compare_think_policies(const ThinkOptions& options);

struct QualityOptions {
  SessionOptions session;
  std::string text_file;
  int window = 1024;     // tokens; at most the model's context
  int positions = 8192;  // predictions compared; the text needs one token more
  // Whether the reference has the rounded values of the tested weights, in f32. Then the difference
  // is what the arithmetic costs.
  bool same_values = false;
};
// Compares the model as `session` describes it with itself in f32 (weights and KV). Both predict
// each next token of the text in windows of `window` tokens -> one object: KL(reference || tested)
// in nats, agreement of the most likely tokens, perplexities.
Status quality(const QualityOptions& options);

struct IdentityOptions {
  SessionOptions session;  // its threads are the most that a case's variant uses
  int cases = 200;
  uint64_t seed = 0;
  std::optional<uint64_t> case_seed;  // runs only the case with this seed
  int tokens_max = 0;                 // the most in a case's sequence; 0: 9,000, or the model's
                                      // context
  bool trace = false;                 // traces the first case that differs, or the only one
};
// Computes random sequences alone and in another arrangement, and compares them bit by bit -> one
// object. With `trace`, one object for each run, layer and tensor comes before it. Errors:
// kInternal if any bit differs; it names the first difference.
Status identity(const IdentityOptions& options);

struct EstimateOptions {
  // The daemon's defaults; state_dir is not used.
  SessionOptions session = {.weights = bench::kWeightsAsInFiles, .kv = "int8"};
  // As on the command line, each from 1 to the model's context; empty means some usual numbers up
  // to that.
  std::vector<std::string> tokens;
  int64_t sequences = 1;  // sequences that share no page
  bool json = false;
};
// The memory that the model needs, found without loading it: a table for people, or one object for
// each number of tokens, with the bytes of weights, of K and V, of activations, and of all
// together. Errors: kInvalidArgument, field "--tokens" or "--sequences"; those of load_model for
// the files.
Status estimate(const EstimateOptions& options);

struct TensorsOptions {
  std::string model;  // a GGUF file, or the first part of one
};
// {"name", "shape", "type", "sha256"} for each tensor, in the order of the file. "shape" is the
// file's, with the fastest dimension first; "sha256" is that of the values as f32. Errors: those of
// GgufFiles::open.
Status tensors(const TensorsOptions& options);

}  // namespace cascade::eval
