// Goes through the references once; contexts wait until their user message comes.
#include "actors/scheduler/composition.h"

#include <algorithm>

#include "base/call_id.h"
#include "model/conversation.h"

namespace cascade {
namespace {

// The beginning of the ids that retained outputs get.
constexpr std::string_view kOutputIdPrefix = "output_";

// A context that waits for its user message.
struct Context {
  std::string id;  // may be empty
  std::string text;
};

std::string field(std::string_view name, const char* member) {
  return std::string(name) + "." + member;
}

class Composer {
 public:
  Composer(std::string_view tenant, ChunkRegistry& registry, int64_t text_bytes_max,
           OnMissing on_missing)
      : tenant_(tenant),
        registry_(registry),
        text_bytes_max_(text_bytes_max),
        on_missing_(on_missing) {}

  // `name` is the reference's field in the request, for errors.
  Status add(std::string_view name, const wire::ChunkRef& ref) {
    if (ref.id.empty() == ref.text.empty()) {
      return invalid_argument(field(name, "id"), "give exactly one of id and text");
    }
    Chunk chunk;
    if (ref.id.empty()) {
      chunk.type = ref.type;
      chunk.text = ref.text;
    } else {
      auto found = registry_.find(tenant_, ref.id);
      if (!found.ok() && found.error().code == ErrorCode::kNotFound &&
          on_missing_ == OnMissing::kSkip) {
        result_.missing.push_back({ref.id, found.error().message});
        return {};
      }
      if (!found.ok()) return Error{found.error().code, field(name, "id"), found.error().message};
      chunk = (*found)->chunk;
      result_.chunk_ids.push_back(chunk.id);
      result_.parent_ids.push_back(chunk.id);
    }
    RETURN_IF_ERROR(check_type(name, ref, chunk));
    RETURN_IF_ERROR(check_order(name, chunk.type));
    RETURN_IF_ERROR(count_text(chunk));
    append(chunk);
    const bool worth_an_id =
        chunk.type == ChunkType::kSystemPrompt || chunk.type == ChunkType::kContext;
    if (ref.id.empty() && worth_an_id) {
      result_.parent_ids.emplace_back();
      result_.new_chunks.push_back(std::move(chunk));
    }
    return {};
  }

  void add_missing(const std::vector<wire::MissingChunk>& missing) {
    result_.missing.insert(result_.missing.end(), missing.begin(), missing.end());
  }

  Result<Composition> finish(bool to_answer) && {
    flush_contexts("");
    if (!to_answer) return std::move(result_);
    if (result_.messages.empty() || result_.messages.back().role != "user") {
      return invalid_argument("chunks", "must end with a query (or a context) to answer");
    }
    return std::move(result_);
  }

 private:
  static Status check_type(std::string_view name, const wire::ChunkRef& ref, const Chunk& chunk) {
    const bool as_context = ref.type == ChunkType::kContext &&
                            (chunk.type == ChunkType::kOutput || chunk.type == ChunkType::kSummary);
    if (ref.type != chunk.type && !as_context) {
      return invalid_argument(field(name, "type"), "is " + std::string(to_string(ref.type)) +
                                                       ", but the chunk is " +
                                                       std::string(to_string(chunk.type)));
    }
    if (ref.id.empty() && ref.type == ChunkType::kOutput) {
      return invalid_argument(field(name, "id"), "an output must be given by its id");
    }
    if (ref.id.empty() && ref.type == ChunkType::kSummary) {
      return invalid_argument(field(name, "id"), "a summary must be given by its id");
    }
    return {};
  }

  Status check_order(std::string_view name, ChunkType type) {
    const int level = cascade_level(type);
    const bool only_one = type == ChunkType::kSystemPrompt || type == ChunkType::kQuery;
    if (level < level_ || (only_one && level == level_)) {
      return invalid_argument(field(name, "type"),
                              "the order is one SYSTEM_PROMPT, CONTEXT and OUTPUT, one QUERY");
    }
    level_ = level;
    return {};
  }

  // A request may name one large chunk many times.
  Status count_text(const Chunk& chunk) {
    text_bytes_ += static_cast<int64_t>(chunk.query_text.size() +
                                        std::max(chunk.text.size(), chunk.raw_text.size()));
    if (text_bytes_ <= text_bytes_max_) return {};
    return invalid_argument("chunks", "hold " + std::to_string(text_bytes_) +
                                          " bytes or more; the limit is " +
                                          std::to_string(text_bytes_max_));
  }

  void append(const Chunk& chunk) {
    switch (chunk.type) {
      case ChunkType::kSystemPrompt:
        result_.messages.push_back({.role = "system", .content = chunk.text, .reasoning = {}});
        break;
      case ChunkType::kContext:
      case ChunkType::kSummary: contexts_.push_back({id_of(chunk), chunk.text}); break;
      case ChunkType::kOutput: append_turn(chunk); break;
      case ChunkType::kQuery: flush_contexts(chunk.text); break;
    }
  }

  // Returns the context's id. For a context that was given as text, that is the id of the
  // registered one with the same text, or empty.
  std::string id_of(const Chunk& context) const {
    if (!context.id.empty()) return context.id;
    Chunk wanted;
    wanted.type = context.type;
    wanted.tenant = tenant_;
    wanted.text = context.text;
    wanted.content_hash = chunk_content_hash(wanted);
    const ChunkEntry* same = registry_.same_content(wanted);
    return same == nullptr ? "" : same->chunk.id;
  }

  // Whether the user message that `output` answers was made of the context. The chunks of that
  // message come after the last output among the output's parents.
  static bool is_in_query_of(const Chunk& output, const std::string& context_id) {
    for (auto id = output.parent_ids.rbegin(); id != output.parent_ids.rend(); ++id) {
      if (id->starts_with(kOutputIdPrefix)) return false;
      if (*id == context_id) return true;
    }
    return false;
  }

  void append_turn(const Chunk& output) {
    std::erase_if(contexts_, [&](const Context& context) {
      return !context.id.empty() && is_in_query_of(output, context.id);
    });
    flush_contexts(output.query_text);
    const bool keep = output.think_policy == ThinkPolicy::kKeep;
    result_.answers.emplace_back(output.id, result_.messages.size());
    result_.messages.push_back({.role = "assistant",
                                .content = keep ? output.raw_text : output.text,
                                .reasoning = {},
                                .verbatim = keep});
    if (!keep && calls_tool(output.text)) {
      result_.messages.back().tool_call_id = call_id_prefix(output.id);
    }
  }

  // Makes one user message of the contexts that are waiting and `query`.
  void flush_contexts(const std::string& query) {
    std::string content;
    for (const Context& context : contexts_) {
      if (!content.empty()) content += "\n\n";
      content += context.text;
    }
    contexts_.clear();
    if (!content.empty() && !query.empty()) content += "\n\n";
    content += query;
    if (content.empty()) return;
    result_.messages.push_back({.role = "user", .content = std::move(content), .reasoning = {}});
  }

  std::string_view tenant_;
  ChunkRegistry& registry_;
  const int64_t text_bytes_max_;
  const OnMissing on_missing_;
  int64_t text_bytes_ = 0;
  Composition result_;
  std::vector<Context> contexts_;
  int level_ = -1;
};

}  // namespace

Result<Earlier> conversation_of(const std::string& output, std::string_view tenant,
                                ChunkRegistry& registry, OnMissing on_missing) {
  constexpr const char* kField = "previous_output";
  const auto found = registry.find(tenant, output);
  const bool is_gone = !found.ok() && found.error().code == ErrorCode::kNotFound;
  if (is_gone && on_missing == OnMissing::kSkip) {
    return Earlier{{}, kField, {{output, found.error().message}}};
  }
  if (!found.ok()) return Error{found.error().code, kField, found.error().message};
  const Chunk& last = (*found)->chunk;
  if (last.type != ChunkType::kOutput) {
    return invalid_argument(kField, "is " + std::string(to_string(last.type)) + ", not OUTPUT");
  }
  if (last.parent_ids.size() >= kParentIdsMax) {
    return invalid_argument(kField, "has " + std::to_string(kParentIdsMax) +
                                        " chunks or more before it, and not all of them are "
                                        "known: name them as chunks");
  }
  Earlier earlier = {{}, kField};
  earlier.left_out = last.generation.left_out.value_or(LeftOut());
  earlier.left_out_from = last.generation.left_out_from;
  earlier.summarised = last.generation.summarised;
  for (const std::string& id : last.parent_ids) {
    const auto parent = registry.find(tenant, id);
    if (!parent.ok() && on_missing == OnMissing::kSkip) {
      earlier.missing.push_back({id, parent.error().message});
      continue;
    }
    if (!parent.ok()) {
      return Error{parent.error().code, kField,
                   "an earlier chunk does not exist any more: " + parent.error().message +
                       "; \"on_missing\": \"skip\" goes on without it"};
    }
    earlier.chunks.push_back({(*parent)->chunk.type, id, ""});
  }
  earlier.chunks.push_back({ChunkType::kOutput, last.id, ""});
  // A registered query is a part of the output's turn already, as contexts are: see append_turn().
  std::erase_if(earlier.chunks,
                [](const wire::ChunkRef& ref) { return ref.type == ChunkType::kQuery; });
  return earlier;
}

Result<Composition> compose(const std::vector<wire::ChunkRef>& refs, std::string_view tenant,
                            ChunkRegistry& registry, int64_t text_bytes_max, bool to_answer,
                            const Earlier& earlier, OnMissing on_missing) {
  Composer composer(tenant, registry, text_bytes_max, on_missing);
  composer.add_missing(earlier.missing);
  const auto add = [&](size_t i) {
    return composer.add("chunks[" + std::to_string(i) + "]", refs[i]);
  };
  size_t next = 0;
  const bool has_system = !refs.empty() && refs.front().type == ChunkType::kSystemPrompt;
  if (has_system) RETURN_IF_ERROR(add(next++));
  for (const wire::ChunkRef& ref : earlier.chunks) {
    if (has_system && ref.type == ChunkType::kSystemPrompt) continue;
    RETURN_IF_ERROR(composer.add(earlier.field, ref));
  }
  for (; next < refs.size(); ++next) RETURN_IF_ERROR(add(next));
  return std::move(composer).finish(to_answer);
}

}  // namespace cascade
