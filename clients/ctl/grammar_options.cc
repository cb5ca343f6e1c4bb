// A schema comes from a file, and messages about the schema name that file.
#include "clients/ctl/grammar_options.h"

#include <iostream>

#include "base/utf8.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/text_input.h"

namespace cascade::ctl {
namespace {

std::string read_schema(const std::string& option, const std::string& file) {
  const auto text = read_text(file, std::cin, kGrammarBytesMax);
  if (!text.ok()) throw CLI::ValidationError(option, one_line(text.error().to_string()));
  if (!is_utf8(*text)) throw CLI::ValidationError(option, one_line(file) + " is not UTF-8");
  return *text;
}

}  // namespace

void add_grammar_options(CLI::App& command, wire::GenerateRequest& params) {
  const auto from_file = [&params](const char* option, GrammarKind kind) {
    return [&params, option, kind](const std::string& file) {
      params.grammar = {kind, read_schema(option, file)};
    };
  };
  CLI::Option* schema = command.add_option_function<std::string>(
      "--json-schema", from_file("--json-schema", GrammarKind::kJsonSchema),
      "The answer is JSON that is valid by the JSON schema in this file (-: stdin)");
  CLI::Option* object = command.add_flag_callback(
      "--json-object",
      [&params] {
        params.grammar = {GrammarKind::kJsonObject, ""};
      },
      "The answer is a JSON object");
  CLI::Option* parts = command.add_option_function<std::string>(
      "--grammar", from_file("--grammar", GrammarKind::kParts),
      "The answer follows the grammar in this file (-: stdin), which consists of texts, patterns "
      "and "
      "JSON schemas (docs/constrained_output.md)");
  object->excludes(schema);
  parts->excludes(schema)->excludes(object);
}

}  // namespace cascade::ctl
