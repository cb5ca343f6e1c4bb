// The public face of the template engine, and the way of a template through it:
//   parse    source -- jinja_lexer --> tokens -- jinja_parser --> syntax tree (jinja_ast.h)
//   render   tree and variables -- jinja_interpreter --> marked text (jinja_text.h)
// What the interpreter applies to values (jinja_value.h) is in jinja_operators, jinja_access,
// jinja_compare, jinja_filters, jinja_tests, jinja_methods and jinja_functions; jinja_runtime.h
// holds the bounds.
#include "model/chat_template.h"

#include <utility>

#include "model/jinja_interpreter.h"
#include "model/jinja_parser.h"

namespace cascade {

struct ChatTemplate::Impl {
  jinja::Template tree;
  TemplateLimits limits;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const TemplateLimits& limits) {
  ASSIGN_OR_RETURN(jinja::Template tree, jinja::parse_template(source, limits));
  return ChatTemplate(std::make_unique<Impl>(Impl{std::move(tree), limits}));
}

Result<SpannedText> ChatTemplate::render(const OrderedJson& variables, int64_t now_unix_s) const {
  jinja::Runtime runtime(impl_->limits, now_unix_s);
  ASSIGN_OR_RETURN(const jinja::MarkedText text,
                   jinja::Interpreter(impl_->tree, runtime).run(variables));
  return text.spans();
}

}  // namespace cascade
