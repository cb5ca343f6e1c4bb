// Fields have the names of docs/protocol.md.
#include "wire/openai/chunk_routes.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "wire/openai/fields.h"
#include "wire/openai/json_text.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

std::optional<ChunkType> type_of(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return chunk_type_from_string(name);
}

constexpr char kTypes[] = "must be SYSTEM_PROMPT, CONTEXT, OUTPUT or QUERY";

// Reads the fields that ChunkPut and ChunkUpdate share.
template <class M>
void read_settings(Fields& fields, M& message) {
  message.name = fields.text("name");
  message.pinned = fields.boolean("pinned");
  message.ttl_ms = fields.integer("ttl_ms", 0, wire::kDurationMsMax);
  if (const auto priority = fields.integer("priority", 0, wire::kChunkPriorityMax)) {
    message.priority = static_cast<int32_t>(*priority);
  }
  message.priority_ms = fields.integer("priority_ms", 1, wire::kDurationMsMax);
}

OrderedJson json_of_holders(const std::vector<Holder>& list) {
  OrderedJson holders = OrderedJson::array();
  for (const Holder& holder : list) {
    OrderedJson entry;
    entry["kind"] = to_string(holder.kind);
    entry["label"] = text_or_null(holder.label);
    entry["count"] = holder.count;
    entry["expires_us"] = holder.expires_us;
    entry["priority"] = holder.priority;
    entry["pinned"] = holder.pinned;
    holders.push_back(std::move(entry));
  }
  return holders;
}

OrderedJson encode_of(const Chunk& chunk, int64_t tokens) {
  OrderedJson result;
  result["id"] = chunk.id;
  result["object"] = "chunk";
  result["type"] = to_string(chunk.type);
  result["tenant"] = chunk.tenant;
  result["name"] = text_or_null(chunk.name);
  result["text"] = chunk.text;
  result["tokens"] = tokens;
  result["pinned"] = chunk.pinned;
  result["published"] = chunk.published;
  result["priority"] = chunk.priority;
  result["expires_us"] = chunk.expires_us;
  result["kv_state"] = to_string(chunk.kv_state);
  result["kv_approximation"] = to_string(chunk.kv_approximation);
  result["kv_tokens"] = chunk.kv_tokens;
  result["kv_bytes"] = chunk.kv_bytes;
  result["kv_disk_pages"] = chunk.kv_disk_pages;
  result["kv_disk_bytes"] = chunk.kv_disk_bytes;
  result["kv_key"] = text_or_null(chunk.kv_key);
  result["created_us"] = chunk.created_us;
  result["last_used_us"] = chunk.last_used_us;
  result["hits"] = chunk.hits;
  result["registrations"] = chunk.registrations;
  result["holders"] = json_of_holders(chunk.holders);
  if (chunk.type == ChunkType::kOutput) {
    result["query_text"] = chunk.query_text;
    result["think_policy"] = to_string(chunk.think_policy);
    result["approximation"] = to_string(chunk.generation.approximation);
    result["finish_reason"] = chunk.generation.finish_reason;
    result["seed"] = chunk.generation.seed;
  }
  if (chunk.type == ChunkType::kOutput || chunk.type == ChunkType::kSummary) {
    result["parent_ids"] = chunk.parent_ids;
  }
  return result;
}

OrderedJson whole_chunk(const wire::ChunkReply& reply) {
  const Chunk& chunk = reply.chunk;
  OrderedJson result = encode_of(chunk, static_cast<int64_t>(chunk.token_ids.size()));
  result["token_ids"] = chunk.token_ids;
  result["durable"] = reply.durable;
  return result;
}

}  // namespace

Result<wire::ChunkListRequest> decode_chunk_list(const Query& query) {
  wire::ChunkListRequest request;
  for (const auto& [key, value] : query) {
    if (key == "type") {
      request.type = type_of(value);
      if (!request.type) return invalid_argument("type", kTypes);
    } else if (key == "after") {
      request.after = value;
    } else if (key == "limit") {
      const char* const end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, request.limit);
      if (error != std::errc() || stop != end) {
        return invalid_argument("limit", "must be a whole number");
      }
    }
  }
  RETURN_IF_ERROR(wire::check_request(request));
  return request;
}

Result<wire::ChunkPut> decode_chunk_put(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  wire::ChunkPut put;
  const auto type = type_of(fields.text("type").value_or("CONTEXT"));
  if (!type) fields.fail("type", kTypes);
  put.type = type.value_or(ChunkType::kContext);
  put.text = fields.text("text").value_or("");
  if (const OrderedJson* tokens = fields.array("token_ids")) {
    for (const OrderedJson& token : *tokens) {
      const bool fits =
          token.is_number_integer() && token.get<double>() >= 0 && token.get<double>() <= INT32_MAX;
      if (!fits) {
        fields.fail("token_ids", "must be an array of token ids");
        break;
      }
      put.token_ids.push_back(token.get<int32_t>());
    }
  }
  read_settings(fields, put);
  RETURN_IF_ERROR(fields.status());
  RETURN_IF_ERROR(wire::check_request(put));
  return put;
}

Result<wire::ChunkUpdate> decode_chunk_update(const std::string& id, std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  wire::ChunkUpdate update;
  update.id = id;
  read_settings(fields, update);
  update.published = fields.boolean("published");
  update.touch = fields.boolean("touch").value_or(false);
  RETURN_IF_ERROR(fields.status());
  RETURN_IF_ERROR(wire::check_request(update));
  return update;
}

std::string encode_chunk(const wire::ChunkReply& reply) {
  return json_text(whole_chunk(reply));
}

std::string encode_changed_chunk(const wire::ChunkReply& reply) {
  OrderedJson result = whole_chunk(reply);
  result["gone"] = reply.gone.value_or(false);
  result["ended"] = json_of_holders(reply.ended);
  return json_text(result);
}

std::string encode_chunk_list(const wire::ChunkListReply& reply) {
  OrderedJson result;
  result["object"] = "list";
  OrderedJson& data = result["data"] = OrderedJson::array();
  for (size_t i = 0; i < reply.chunks.size(); ++i) {
    const int64_t tokens = i < reply.token_counts.size() ? reply.token_counts[i] : 0;
    data.push_back(encode_of(reply.chunks[i], tokens));
  }
  result["first_id"] = text_or_null(reply.chunks.empty() ? "" : reply.chunks.front().id);
  result["last_id"] = text_or_null(reply.chunks.empty() ? "" : reply.chunks.back().id);
  result["has_more"] = reply.more;
  return json_text(result);
}

Result<wire::ChunkDelete> decode_chunk_delete(const std::string& id, const Query& query) {
  wire::ChunkDelete request = {id};
  for (const auto& [key, value] : query) {
    if (key == "name") request.name = value;
    if (key != "all") continue;
    if (value != "true" && value != "false") {
      return invalid_argument("all", "must be true or false");
    }
    request.all = value == "true";
  }
  RETURN_IF_ERROR(wire::check_request(request));
  return request;
}

std::string encode_deleted(const std::string& id, const char* object,
                           const wire::ChunkReply& reply) {
  const bool gone = reply.gone.value_or(false);
  OrderedJson result;
  result["id"] = id;
  result["object"] = object;
  result["deleted"] = gone;
  result["ended"] = json_of_holders(reply.ended);
  if (!gone) result["holders"] = json_of_holders(reply.chunk.holders);
  return json_text(result);
}

}  // namespace cascade::openai
