// One table for fields, one for phrases in messages. docs/protocol.md has the fields.
#include "clients/ctl/option_words.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace cascade::ctl {
namespace {

struct Words {
  std::string_view of_protocol;
  std::string_view of_options;
};

constexpr Words kFields[] = {
    {"all", "--all"},
    {"attention", "--attention"},
    {"chunks", "prompt"},
    {"directory", "DIR"},
    {"grammar", "--json-schema or --grammar"},
    {"grammar.schema", "--json-schema or --grammar"},
    {"ignore_eos", "--ignore-eos"},
    {"limit", "--limit"},
    {"logprobs", "--logprobs"},
    {"heal", "--heal"},
    {"max_tokens", "--max-tokens"},
    {"messages", "prompt"},
    {"model", "--model-name"},
    {"on_missing", "--on-missing"},
    {"on_overflow", "--on-overflow"},
    {"output_name", "--name"},
    {"output_pinned", "--pin"},
    {"output_priority", "--priority"},
    {"output_priority_ms", "--priority-for"},
    {"output_ttl_ms", "--ttl"},
    {"pinned", "--pin"},
    {"previous_output", "--previous-output"},
    {"priority", "--priority"},
    {"priority_ms", "--priority-for"},
    {"prompt_priority", "--prompt-priority"},
    {"prompt_priority_ms", "--prompt-priority-for"},
    {"reasoning_effort", "--reasoning-effort"},
    {"retain_output", "--retain"},
    {"reuse", "--no-reuse"},
    {"sampling.frequency_penalty", "--frequency-penalty"},
    {"sampling.logit_bias", "--logit-bias"},
    {"sampling.min_p", "--min-p"},
    {"sampling.presence_penalty", "--presence-penalty"},
    {"sampling.repetition_penalty", "--repetition-penalty"},
    {"sampling.seed", "--seed"},
    {"sampling.temperature", "--temperature"},
    {"sampling.top_k", "--top-k"},
    {"sampling.top_p", "--top-p"},
    {"session", "--session"},
    {"state_dir", "--state-dir"},
    {"stop", "--stop"},
    {"think_policy", "--think-policy"},
    {"thinking", "--think"},
    {"timeout_ms", "--timeout-ms"},
    {"token_ids", "--token-ids"},
    {"top_logprobs", "--top-logprobs"},
    {"ttl_ms", "--ttl"},
    {"type", "--type"},
};

constexpr Words kPhrases[] = {
    {R"("on_missing": "skip")", "--on-missing skip"},
    {"set with grammar", "set with --json-schema, --json-object or --grammar"},
    {"your chunks have", "your prompt has"},
    {"your messages have", "your prompt has"},
    {"length of the chunks", "length of the prompt"},
    {"length of the messages", "length of the prompt"},
    {"retain_output", "--retain"},
    {"set with prompt_priority", "set with --prompt-priority"},
    {"together with logprobs", "together with --logprobs"},
    {R"(say by "name" which of them, or give up "all")", "--name says which of them, --all is all"},
    {"exactly one of text and token_ids", "exactly one of a text, --file and --token-ids"},
};

}  // namespace

Error in_words_of_options(Error error) {
  // The index of "stop[2]" is left out: the message names the element, or the reader sees which one
  // is meant.
  const std::string_view field = std::string_view(error.field).substr(0, error.field.find('['));
  const auto known = std::ranges::find(kFields, field, &Words::of_protocol);
  if (known != std::end(kFields)) error.field = known->of_options;
  for (const auto& [of_protocol, of_options] : kPhrases) {
    for (size_t at = error.message.find(of_protocol); at != std::string::npos;
         at = error.message.find(of_protocol, at + of_options.size())) {
      error.message.replace(at, of_protocol.size(), of_options);
    }
  }
  return error;
}

}  // namespace cascade::ctl
