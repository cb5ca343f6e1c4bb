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
  std::string model_dir;  // one of the two
  std::string template_file;
  std::string input;  // one JSON object of variables, or a list of {"input": variables, …}
  int64_t now_unix_s = 0;
};
// One object: the rendered text as it is. A list: {"output": …} or {"error": …} a line.
Status render_template(const TemplateOptions& options);

struct LogitsOptions {
  SessionOptions session;
  std::string input;
  int slice = 0;  // 0: whole
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
// Windows of a text whose documents (separated by a line with a NUL byte) each end with the model's
// end-of-text token -> one object.
Status nll(const NllOptions& options);

struct QualityOptions {
  SessionOptions session;
  std::string text_file;
  int window = 1024;     // tokens; at most the model's context
  int positions = 8192;  // predictions compared; the text needs one token more
};
// The model as `session` says against itself in f32 (weights and KV), both predicting each next
// token of the text in windows of `window` tokens -> one object: KL(reference || tested) in nats,
// agreement of the most likely tokens, perplexities.
Status quality(const QualityOptions& options);

struct IdentityOptions {
  SessionOptions session;  // threads: at most, of a case's variant
  int cases = 200;
  uint64_t seed = 0;
  std::optional<uint64_t> case_seed;  // of the only case
  int tokens_max = 0;                 // of a case's sequence; 0: 9,000, or the model's context
  bool trace = false;                 // of the first case that differs, or the only one
};
// Random sequences, each computed alone and in another arrangement, compared bit by bit -> one
// object; with `trace`, before it one for each run, layer and tensor. Errors: kInternal if any bit
// differs, naming the first that does.
Status identity(const IdentityOptions& options);

struct EstimateOptions {
  // As the daemon has them by default; state_dir does not count.
  SessionOptions session = {.weights = kWeightsAsInFiles, .kv = "int8"};
  // As on the command line, each from 1 to the model's context; empty: some, up to that.
  std::vector<std::string> tokens;
  int64_t sequences = 1;  // that share no page
  bool json = false;
};
// The memory that the model needs, without loading it: a table for people, or for each number of
// tokens one object: bytes of weights, K and V, activations and all together. Errors:
// kInvalidArgument, field
// "--tokens" or "--sequences"; as load_model for the files.
Status estimate(const EstimateOptions& options);

struct TensorsOptions {
  std::string model;  // a GGUF file, or the first part of one
};
// {"name", "shape": the file's, fastest dimension first, "type", "sha256": of the values as f32}
// for each tensor, in the order of the file. Errors: as GgufFiles::open.
Status tensors(const TensorsOptions& options);

}  // namespace cascade::eval
