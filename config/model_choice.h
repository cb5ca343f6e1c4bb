// Finds out which model a value of a setting is for.
#pragma once

#include <string>
#include <string_view>

namespace cascade::config {

struct ModelChoice {
  std::string model;  // the model's name; empty: the default model
  std::string value;
};

// Reads "VALUE", or "NAME=VALUE" if NAME can be a model's name.
ModelChoice model_choice(std::string_view text);

}  // namespace cascade::config
