// The request that the options of generate describe.
#include "clients/ctl/generate.h"
#include "wire/request_rules.h"

namespace cascade::ctl {
namespace {

Result<std::vector<wire::ChunkRef>> compose(const GenerateOptions& options,
                                            const std::vector<ResolvedContext>& contexts,
                                            const std::optional<std::string>& query) {
  std::vector<wire::ChunkRef> system;
  std::vector<wire::ChunkRef> middle;
  std::vector<wire::ChunkRef> last;
  if (!options.system.empty()) system.push_back({ChunkType::kSystemPrompt, "", options.system});
  if (query.has_value()) last.push_back({ChunkType::kQuery, "", *query});
  for (const ResolvedContext& context : contexts) {
    const wire::ChunkRef chunk{context.type, context.id, context.text};
    const int level = cascade_level(context.type);
    (level == 0 ? system : level == 1 ? middle : last).push_back(chunk);
  }
  if (system.size() > 1)
    return invalid_argument("--system", "there is more than one system prompt");
  if (last.size() != 1) {
    return invalid_argument(
        "--query", last.empty() ? "there is no question" : "there is more than one question");
  }
  std::vector<wire::ChunkRef> chunks = std::move(system);
  chunks.insert(chunks.end(), middle.begin(), middle.end());
  chunks.push_back(last.front());
  return chunks;
}

}  // namespace

Result<wire::GenerateRequest> compose_request(const GenerateOptions& options,
                                              const std::vector<ResolvedContext>& contexts,
                                              const std::optional<std::string>& query) {
  if (query.has_value() && query->empty()) {
    return invalid_argument("query", "is empty: write a question");
  }
  wire::GenerateRequest request = options.params;
  if (options.raw) {
    if (!contexts.empty() || !options.system.empty()) {
      return invalid_argument("--raw", "excludes --system, --context, --context-file and --chunk");
    }
    request.prompt = query.value_or("");
  } else {
    ASSIGN_OR_RETURN(request.chunks, compose(options, contexts, query));
  }
  RETURN_IF_ERROR(wire::check_request(request));
  return request;
}

}  // namespace cascade::ctl
