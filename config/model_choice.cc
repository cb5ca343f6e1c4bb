// A value may be a path that contains '=': the text before '=' is a model's name only if it has no
// '/'.
#include "config/model_choice.h"

#include "base/model_name.h"

namespace cascade::config {

ModelChoice model_choice(std::string_view text) {
  const size_t equals = text.find('=');
  const bool is_named = equals != text.npos && is_model_name(text.substr(0, equals));
  if (!is_named) return {"", std::string(text)};
  std::string model(text.substr(0, equals));
  return {model == "default" ? "" : std::move(model), std::string(text.substr(equals + 1))};
}

}  // namespace cascade::config
