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

// Returns what the request leaves out because there is more text than any prompt may have. Error if
// there is too much even so, or if the request may not leave out anything.
Result<LeftOut> fit_text_bytes(const ModelConfig& config, Request& request) {
  const int64_t bytes_max = text_bytes_max(config);
  LeftOut cut;
  if (leaves_out(request.on_overflow)) cut = cut_by_bytes(request, bytes_max);
  const int64_t bytes = bytes_after(request, cut);
  if (bytes <= bytes_max) return cut;
  return too_many_bytes(request, bytes, bytes_max, config.context_tokens_max);
}

// How much text a composition may have. What is left out may be more than a prompt may have.
int64_t composed_bytes_max(const ModelConfig& config, const Request& request) {
  const bool may_drop = leaves_out(request.on_overflow);
  return 2 * (may_drop ? static_cast<int64_t>(wire::kTextBytesMax) : text_bytes_max(config));
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
  ASSIGN_OR_RETURN(Earlier earlier, earlier_of(request));
  ASSIGN_OR_RETURN(Composition composition,
                   compose(request.params.chunks, request.client.tenant, registry_,
                           composed_bytes_max(model_.config, request),
                           /*to_answer=*/!request.prefix, earlier, on_missing(request)));
  request.missing = std::move(composition.missing);
  request.messages = std::move(composition.messages);
  request.answers = std::move(composition.answers);
  request.session_turns = std::move(earlier.turns);
  request.left_out = earlier.left_out;
  request.earlier.outputs = std::move(earlier.outputs_left_out);
  request.earlier.from = std::move(earlier.left_out_from);
  request.summarised = std::move(earlier.summarised);
  if (request.on_overflow == OnOverflow::kError) keep_.pins.heal_from(request);
  ASSIGN_OR_RETURN(LeftOut cut, fit_text_bytes(model_.config, request));
  cut = keep_.summaries.cut_at_summary(cut, request);
  auto next = composition.new_chunks.begin();
  for (std::string& id : composition.parent_ids) {
    if (!id.empty()) continue;
    next->tenant = request.client.tenant;
    id = register_text(std::move(*next++));
  }
  request.parent_ids = std::move(composition.parent_ids);
  std::erase(request.parent_ids, "");
  leave_out(cut, registry_, request);
  if (cut != LeftOut()) {
    std::erase_if(composition.chunk_ids, [&](const std::string& id) {
      return std::ranges::find(request.parent_ids, id) == request.parent_ids.end();
    });
  }
  use_chunks(request.client.tenant, composition.chunk_ids);
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
                   compose({}, tenant, registry_, composed_bytes_max(model_.config, request),
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
  request.left_out = earlier.left_out;
  request.earlier.from = std::move(earlier.left_out_from);
  request.summarised = std::move(earlier.summarised);
  if (params.previous_output.empty() && !params.parents.empty()) {
    const auto first = registry_.find(tenant, params.parents.front());
    if (first.ok()) {
      request.left_out = (*first)->chunk.generation.left_out.value_or(LeftOut());
      request.earlier.from = (*first)->chunk.generation.left_out_from;
      // With other choices, the prompt has the messages as they are.
      const bool summarizes = request.on_overflow == OnOverflow::kSummarize;
      if (summarizes) request.summarised = (*first)->chunk.generation.summarised;
    }
  }
  if (leaves_out(request.on_overflow)) {
    find_answers(params.parents, registry_, request);
  }
  ASSIGN_OR_RETURN(const LeftOut cut, fit_text_bytes(model_.config, request));
  leave_out(keep_.summaries.cut_at_summary(cut, request), registry_, request);
  use_chunks(tenant, request.parent_ids);
  return {};
}

}  // namespace cascade
