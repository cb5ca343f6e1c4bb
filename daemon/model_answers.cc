// Answers questions about the models, and decides who may have them loaded and unloaded.
#include "actors/worker.h"
#include "base/tenant.h"
#include "daemon/model_router.h"

namespace cascade {
namespace {

constexpr size_t kNamesShown = 20;

bool is_local(const std::string& door) {
  const auto from = door_of(door);
  return from && from->tenant == kLocalTenant;
}

}  // namespace

// Returns false if the message is about something else.
bool ModelRouter::about_models(const Requester& from, std::span<const wire::Frame> message) {
  const auto envelope = wire::decode(message);
  if (!envelope.ok()) return false;
  if (std::holds_alternative<wire::ModelListRequest>(envelope->message)) {
    keeper_.rescan([this, from] { list_models(from); });
    return true;
  }
  if (const auto* load = std::get_if<wire::ModelLoad>(&envelope->message)) {
    if (!may_change(from)) return true;
    keeper_.rescan([this, from, request = *load] { load_model(from, request); });
    return true;
  }
  if (const auto* unload = std::get_if<wire::ModelUnload>(&envelope->message)) {
    if (!may_change(from)) return true;
    keeper_.rescan([this, from, request = *unload] { unload_model(from, request); });
    return true;
  }
  return false;
}

bool ModelRouter::may_change(const Requester& from) {
  if (is_local(from.door)) return true;
  refuse(from, {ErrorCode::kConflict, "tenant",
                "only the tenant \"" + std::string(kLocalTenant) +
                    "\" may load and unload models: all tenants use them"});
  return false;
}

// `why` contains names of files, so only the tenant "local" is told.
Error ModelRouter::cannot_load(const Requester& to, const std::string& model, const Error& why) {
  const std::string reason = is_local(to.door) ? ": " + why.to_string() : "";
  return {ErrorCode::kUnavailable, "model", model + " cannot be loaded" + reason};
}

// An error in the model's files is not an error of the request that asks for the model.
Error ModelRouter::of_files(Error why) {
  if (why.code == ErrorCode::kInvalidArgument) why.code = ErrorCode::kDataCorrupt;
  return why;
}

// Only the daemon's owner is told where the models lie.
void ModelRouter::list_models(const Requester& from) {
  const bool local = is_local(from.door);
  wire::ModelListReply reply;
  reply.models = keeper_.list();
  if (local) reply.models_dir = keeper_.models_dir();
  reply.total_bytes = keeper_.total_bytes();
  reply.total_bytes_max = keeper_.total_bytes_max();
  for (wire::ModelInfo& model : reply.models) {
    if (local) continue;
    model.path.clear();
    model.problem.clear();
  }
  answer(from, std::move(reply));
}

void ModelRouter::load_model(const Requester& from, const wire::ModelLoad& request) {
  const std::string name = request.name == "default" ? keeper_.list().front().name : request.name;
  if (!keeper_.contains(name)) return refuse(from, no_such_model(name));
  if (request.estimate) {
    const auto problem = keeper_.problem(name);
    return problem ? refuse(from, of_files(*problem)) : answer_info(from, name);
  }
  if (keeper_.is_default(name)) return answer_info(from, name);
  keeper_.load(name, [this, from, name](const Status& status) {
    status.ok() ? answer_info(from, name) : refuse(from, of_files(status.error()));
  });
}

void ModelRouter::unload_model(const Requester& from, const wire::ModelUnload& request) {
  const std::string& name = request.name;
  if (keeper_.is_default(name) || name == "default") {
    return refuse(from, {ErrorCode::kConflict, "name", "the default model is always loaded"});
  }
  if (!keeper_.contains(name)) return refuse(from, no_such_model(name));
  keeper_.unload(name, [this, from, name](const Status& status) {
    status.ok() ? answer_info(from, name) : refuse(from, status.error());
  });
}

void ModelRouter::answer_info(const Requester& from, const std::string& model) {
  answer(from, wire::ModelReply{keeper_.info(model)});
}

Error ModelRouter::no_such_model(const std::string& model) const {
  std::string known;
  size_t shown = 0;
  for (const wire::ModelInfo& info : keeper_.list()) {
    if (++shown > kNamesShown) {
      known += ", ...";
      break;
    }
    known += (known.empty() ? "" : ", ") + info.name;
  }
  return not_found("model", "there is no model " + model + "; there are: " + known);
}

}  // namespace cascade
