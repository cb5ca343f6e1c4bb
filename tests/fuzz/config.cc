// config.json and generation_config.json.
#include "model/config.h"

#include "tests/fuzz/input.h"

namespace cascade::fuzz {

bool read_config(Bytes input) {
  const auto [config_text, generation_text] = split_at_nul(text_of(input), "null");
  const auto config = parse_json(config_text, "config.json");
  const auto generation = parse_json(generation_text, "generation_config.json");
  if (!is_ok(config) || !is_ok(generation) || !config->is_object()) return false;
  if (!generation->is_object() && !generation->is_null()) return false;
  const auto model = parse_model_config(*config);
  if (!is_ok(model)) {
    CHECK(!model.error().field.empty());
    return false;
  }
  const auto defaults = parse_generation_config(*generation, *config, model->vocab_size);
  return is_ok(defaults);
}

}  // namespace cascade::fuzz
