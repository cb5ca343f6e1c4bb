// A model's chat template: Jinja source in, conversation in, text with trust marks out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/spanned_text.h"

namespace cascade {

// Bounds of one template. Real templates need under 1 % of them; a conversation of 5 MB needs
// 8 to 25 % of the steps.
struct TemplateLimits {
  size_t source_bytes_max = size_t{256} << 10;  // the largest known template has some 30 KiB
  size_t output_bytes_max = size_t{32} << 20;   // a context of a million tokens is some 5 MiB
  // A step is an evaluation of an expression or a statement, an allocation, or 16 bytes that are
  // allocated, compared or read. Work on single characters takes up to eight times as many steps.
  // The number of steps bounds memory too: a rendering allocates less than 16 bytes times this
  // limit, even if everything that it has freed again is counted.
  uint64_t steps_max = 20'000'000;
  // Nesting of blocks and expressions in the source, and of macro calls; evaluation may go ten
  // times as deep in all, which takes at most some 1.5 MiB of stack (4 MiB under ASan).
  int recursion_max = 100;
};

// A template in the subset of Jinja that chat templates use, with Jinja's results byte for byte:
//   tags       if, for (with if, else, break, continue), set, macro, with, filter, raw, generation
//   operators  all, with Python's meaning; integers have 64 bits
//   names      the filters, tests, methods and functions of the tables at the ends of
//              jinja/*_filters.cc, jinja/tests.cc, jinja/*_methods.cc and jinja/functions.cc
// Not supported, and refused by parse(): include, import, extends, block, call, autoescape,
// recursive loops, varargs and kwargs, cycler, joiner and whatever else is not named above.
// Immutable after parse; any thread.
class ChatTemplate {
 public:
  // `source` as in tokenizer_config.json or chat_template.jinja; trim_blocks and lstrip_blocks are
  // on, as in Hugging Face's apply_chat_template. Errors: kInvalidArgument, field "chat_template",
  // with line number: too large, not the supported subset, nested too deep.
  static Result<ChatTemplate> parse(std::string_view source, const TemplateLimits& limits = {});

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // Renders with `variables` (an object: messages, tools, add_generation_prompt, ...) as the
  // globals. Every string inside is untrusted, except those of the top-level keys that end in
  // "_token" (bos_token, eos_token, ...), which come from the model: the caller must not let a
  // client choose such a key. Literals of the template are trusted; operations on strings keep the
  // mark of every character; what the engine writes itself (digits, quotes, padding) is untrusted.
  // `now_unix_s` is what strftime_now formats (in UTC).
  // Errors: kInvalidArgument, field "chat_template": raise_exception's message verbatim, or a
  // run-time error with its line; kResourceExhausted beyond the limits.
  Result<SpannedText> render(const OrderedJson& variables, int64_t now_unix_s) const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cascade
