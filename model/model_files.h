// The contents of a model's files, before its weights are packed.
#pragma once

#include <string>

#include "model/config.h"
#include "model/model.h"
#include "model/safetensors.h"

namespace cascade {

struct ModelFiles {
  std::string name;  // as in Model
  ModelConfig config;
  GenerationConfig generation;
  ModelText text;
  TensorFiles tensors;
};

}  // namespace cascade
