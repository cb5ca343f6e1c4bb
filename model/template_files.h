// Finds the templates of a model folder.
#pragma once

#include <filesystem>

#include "base/json.h"
#include "model/conversation_template.h"

namespace cascade {

// bos_token, eos_token, ... of tokenizer_config.json, as templates see them.
OrderedJson template_tokens(const Json& config);

// The templates of the folder `dir`, as transformers finds them: chat_template.jinja is "default",
// additional_chat_templates/NAME.jinja is NAME. If there are no such files, the templates are
// chat_template of `config`, which is tokenizer_config.json or null: a text, a list of
// {"name","template"}, or an object of texts by name. A file that cannot be read becomes a template
// that cannot be used.
ModelTemplates read_templates(const std::filesystem::path& dir, const Json& config,
                              const OrderedJson& tokens);

// The only template of a model, in a file that its operator names. Errors: kNotFound, kIo,
// kInvalidArgument, field = the file.
Result<ModelTemplates> read_template_file(const std::filesystem::path& file,
                                          const OrderedJson& tokens);

}  // namespace cascade
