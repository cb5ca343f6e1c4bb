// What a request's prompt is made of: chunks, messages, and the conversation that they go on with.
#include <algorithm>

#include "actors/scheduler/overflow.h"
#include "actors/scheduler/prompt_size.h"
#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

OnMissing on_missing(const Request& request) {
  return request.params.on_missing.value_or(OnMissing::kError);
}

// Checks how much text the request has, after leaving out its oldest turns if it may.
Status fit_text_bytes(const ModelConfig& config, ChunkRegistry& registry, Request& request) {
  if (request.on_overflow == OnOverflow::kDropOldest) {
    leave_out_bytes(text_bytes_max(config), registry, request);
  }
  return check_text_bytes(config, request);
}

}  // namespace

// Returns the conversation before the request's own chunks or messages.
Result<Earlier> SchedulerCore::earlier_of(Request& request) {
  const wire::GenerateRequest& params = request.params;
  const OnOverflow of_session = doors_.sessions.on_overflow(request).value_or(OnOverflow::kError);
  request.on_overflow = params.on_overflow.value_or(of_session);
  if (params.previous_output.empty()) {
    return doors_.sessions.turns_before(request, on_missing(request));
  }
  return conversation_of(params.previous_output, request.client.tenant, registry_,
                         on_missing(request));
}

Status SchedulerCore::compose_chunks(Request& request) {
  RETURN_IF_ERROR(doors_.sessions.enter(request));
  ASSIGN_OR_RETURN(const Earlier earlier, earlier_of(request));
  ASSIGN_OR_RETURN(Composition composition,
                   compose(request.params.chunks, request.client.tenant, registry_,
                           2 * text_bytes_max(model_.config),
                           /*to_answer=*/!request.prefix, earlier, on_missing(request)));
  request.missing = std::move(composition.missing);
  keep_.pins.heal_from(request, composition);
  request.messages = std::move(composition.messages);
  request.answers = std::move(composition.answers);
  request.left_out.turns = earlier.left_out_turns;
  RETURN_IF_ERROR(fit_text_bytes(model_.config, registry_, request));
  use_chunks(request.client.tenant, composition.chunk_ids);
  auto next = composition.new_chunks.begin();
  for (std::string& id : composition.parent_ids) {
    if (!id.empty()) continue;
    next->tenant = request.client.tenant;
    id = register_text(std::move(*next++));
  }
  request.parent_ids = std::move(composition.parent_ids);
  std::erase(request.parent_ids, "");
  return {};
}

// Takes the messages that the client gave. The conversation that they continue may have a system
// prompt: it stays in force unless the messages begin with one of their own.
Status SchedulerCore::take_messages(Request& request) {
  wire::GenerateRequest& params = request.params;
  const std::string& tenant = request.client.tenant;
  std::vector<ChatMessage> given = std::exchange(params.messages, {});
  for (ChatMessage& message : given) {
    message.verbatim = message.verbatim && message.role == "assistant";
  }
  const bool has_system = given.front().role == "system";
  ASSIGN_OR_RETURN(Earlier earlier, earlier_of(request));
  if (has_system) {
    std::erase_if(earlier.chunks,
                  [](const wire::ChunkRef& ref) { return ref.type == ChunkType::kSystemPrompt; });
  }
  ASSIGN_OR_RETURN(const Composition before,
                   compose({}, tenant, registry_, 2 * text_bytes_max(model_.config),
                           /*to_answer=*/false, earlier));
  const size_t begin = has_system ? 1 : 0;
  given.insert(given.begin() + static_cast<ptrdiff_t>(begin), before.messages.begin(),
               before.messages.end());
  request.messages = std::move(given);
  for (const auto& [id, place] : before.answers) request.answers.emplace_back(id, begin + place);
  request.missing = before.missing;
  request.parent_ids = before.parent_ids;
  for (size_t i = 0; i < params.parents.size(); ++i) {
    const std::string field = "parents[" + std::to_string(i) + "]";
    const auto parent = registry_.find(tenant, params.parents[i]);
    if (!parent.ok() && parent.error().code == ErrorCode::kNotFound &&
        on_missing(request) == OnMissing::kSkip) {
      request.missing.push_back({params.parents[i], parent.error().message});
      continue;
    }
    if (!parent.ok()) return Error{parent.error().code, field, parent.error().message};
    if ((*parent)->chunk.type != ChunkType::kOutput) {
      return invalid_argument(field, "is not an output");
    }
    request.parent_ids.push_back((*parent)->chunk.id);
  }
  RETURN_IF_ERROR(fit_text_bytes(model_.config, registry_, request));
  use_chunks(tenant, request.parent_ids);
  return {};
}

}  // namespace cascade
