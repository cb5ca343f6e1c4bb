// Finds out which model a file with a chat template is for.
#pragma once

#include <string>
#include <string_view>

namespace cascade::config {

struct TemplateChoice {
  std::string model;  // its name; empty: the default model
  std::string file;
};

// Reads "FILE", or "NAME=FILE" if NAME can be a model's name.
TemplateChoice template_choice(std::string_view text);

}  // namespace cascade::config
