// What the files of a model say, before its weights are packed.
#pragma once

#include <string>

#include "model/config.h"
#include "model/model.h"
#include "model/safetensors.h"

namespace cascade {

struct ModelFiles {
  std::string name;  // as Model has it
  ModelConfig config;
  GenerationConfig generation;
  ModelText text;
  TensorFiles tensors;
};

}  // namespace cascade
