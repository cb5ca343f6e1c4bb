// The cascadectl model commands. Each returns the exit code.
#pragma once

#include <string>

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

int run_model_list(client::Client& client, Screen& screen);
// With options.estimate, only says what loading would take.
int run_model_load(client::Client& client, Screen& screen, const ModelOptions& options);
int run_model_unload(client::Client& client, Screen& screen, const ModelOptions& options);

// "Model  State  Format  Disk  Memory ...", and what all models take together. Pure.
std::string render_models(const wire::ModelListReply& reply, const Style& style);
// What one model takes, part by part. Pure.
std::string render_estimate(const wire::ModelInfo& model, const Style& style);

}  // namespace cascade::ctl
