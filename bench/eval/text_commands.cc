// tokenize, detokenize, template: no weights needed.
#include <cstdio>

#include "base/text_file.h"
#include "bench/eval/commands.h"
#include "bench/eval/json_lines.h"
#include "model/model.h"
#include "model/template_files.h"

namespace cascade::eval {
namespace {

constexpr size_t kFileBytesMax = size_t{64} << 20;

Result<ModelTemplates> open_templates(const TemplateOptions& options) {
  if (!options.template_file.empty()) return read_template_file(options.template_file, {});
  if (options.model_dir.empty()) {
    return invalid_argument("--model", "is missing: --model or --template says what to render");
  }
  ASSIGN_OR_RETURN(ModelText text, load_model_text(options.model_dir));
  return std::move(text.templates);
}

// The text as the template itself renders it: nothing is changed for the template.
Result<SpannedText> render_variables(const ModelTemplates& templates, const OrderedJson& variables,
                                     int64_t now_unix_s) {
  const bool tools = variables.contains("tools") && !variables["tools"].is_null();
  ASSIGN_OR_RETURN(const ConversationTemplate* chosen, templates.choose(tools));
  return chosen->source().render(variables, now_unix_s);
}

}  // namespace

Status tokenize(const TextOptions& options) {
  ASSIGN_OR_RETURN(const ModelText model, load_model_text(options.model_dir));
  ASSIGN_OR_RETURN(const std::vector<InputLine> lines, read_json_lines(options.input));
  for (const InputLine& line : lines) {
    ASSIGN_OR_RETURN(const std::string text, string_of(line, "text"));
    ASSIGN_OR_RETURN(const auto ids, model.tokenizer.encode(text, true, false));
    ASSIGN_OR_RETURN(const auto with_special, model.tokenizer.encode(text, true, true));
    RETURN_IF_ERROR(write_line({{"ids", ids}, {"ids_with_special", with_special}}));
  }
  return {};
}

Status detokenize(const TextOptions& options) {
  ASSIGN_OR_RETURN(const ModelText model, load_model_text(options.model_dir));
  ASSIGN_OR_RETURN(const std::vector<InputLine> lines, read_json_lines(options.input));
  for (const InputLine& line : lines) {
    ASSIGN_OR_RETURN(const auto ids, ids_of(line, model.tokenizer.id_count()));
    RETURN_IF_ERROR(write_line({{"text", model.tokenizer.decode(ids, false)},
                                {"text_skip_special", model.tokenizer.decode(ids, true)}}));
  }
  return {};
}

Status render_template(const TemplateOptions& options) {
  ASSIGN_OR_RETURN(const ModelTemplates templates, open_templates(options));
  ASSIGN_OR_RETURN(const std::string text, read_text_file(options.input, kFileBytesMax));
  ASSIGN_OR_RETURN(const OrderedJson input, parse_ordered_json(text, options.input));
  if (input.is_object()) {
    ASSIGN_OR_RETURN(const SpannedText rendered,
                     render_variables(templates, input, options.now_unix_s));
    return write_text(plain_text(rendered));
  }
  if (!input.is_array()) return invalid_argument(options.input, "must be an object or a list");
  for (size_t i = 0; i < input.size(); ++i) {
    const OrderedJson& entry = input[i];
    if (!entry.is_object() || !entry.contains("input")) {
      return invalid_argument("[" + std::to_string(i) + "]",
                              "must be an object with \"input\", the variables");
    }
    const auto rendered = render_variables(templates, entry["input"], options.now_unix_s);
    if (rendered.ok()) {
      RETURN_IF_ERROR(write_line({{"output", plain_text(*rendered)}}));
    } else {
      RETURN_IF_ERROR(write_line({{"error", rendered.error().message}}));
    }
  }
  return {};
}

}  // namespace cascade::eval
