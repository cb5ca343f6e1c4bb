// The parts of a load that run on a thread of their own: the check whether it can succeed, and the
// load.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "daemon/model_catalog.h"
#include "daemon/model_host.h"

namespace cascade {

// A model in memory beside the default one.
struct LoadedModel {
  ZmqContext context;  // only for this host, so that the context can end alone
  std::unique_ptr<ModelHost> host;
};

// Checks whether load_host() will succeed, as far as that can be told without the memory of the
// model: reads its configuration, tokenizer, chat template and the tables of its tensors, and looks
// whether its state directory is free. Makes no folder. Takes as long as reading the tokenizer.
// Returns the memory that the model takes. Errors: as ModelHost::load().
Result<ModelSize> check_load(const DaemonOptions& options, const CatalogEntry& entry);

// Loads the model; blocks. A load that fails leaves no state directory that did not exist before.
// Errors: as ModelHost::load(); kResourceExhausted, field "memory"; kInternal.
Result<std::shared_ptr<LoadedModel>> load_host(const DaemonOptions& options,
                                               const CatalogEntry& entry, Compute& compute);

}  // namespace cascade
