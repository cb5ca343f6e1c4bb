// What a load does on a thread of its own: looks whether it can succeed, then loads.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "daemon/model_catalog.h"
#include "daemon/model_host.h"

namespace cascade {

// A model in memory beside the default one.
struct LoadedModel {
  ZmqContext context;  // its host's alone, so that it can end alone
  std::unique_ptr<ModelHost> host;
};

// Whether load_host() will succeed, as far as that can be told without the memory that the model
// takes: reads its configuration, tokenizer, chat template and the tables of its tensors, and looks
// whether its state directory is free. Makes no folder. Takes as long as reading the tokenizer.
// What the model takes. Errors: as ModelHost::load().
Result<ModelSize> check_load(const DaemonOptions& options, const CatalogEntry& entry);

// Loads the model; blocks. Of a load that fails no state directory is left that was not there
// before. Errors: as ModelHost::load(); kResourceExhausted, field "memory"; kInternal.
Result<std::shared_ptr<LoadedModel>> load_host(const DaemonOptions& options,
                                               const CatalogEntry& entry, Compute& compute);

}  // namespace cascade
