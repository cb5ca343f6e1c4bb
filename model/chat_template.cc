// The public face of the template engine in model/jinja. A template takes this way through it:
//   parse    source -- lexer.h --> tokens -- parser.h --> syntax tree (ast.h)
//   render   tree and variables -- interpreter.h --> marked text (text.h)
// The operations that the interpreter applies to values (value.h) are in operators, access,
// compare, filters, tests, methods and functions. runtime.h holds the bounds, and paid.h makes
// every allocation pay for itself in steps.
#include "model/chat_template.h"

#include <utility>

#include "model/jinja/interpreter.h"
#include "model/jinja/parser.h"

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
  const Status paid = runtime.charge_bytes(text.span_bytes());
  if (!paid.ok()) return jinja::without_line(paid.error());
  return text.spans();
}

}  // namespace cascade
