// /v1/chunks: our own routes, with lists and objects in the manner of OpenAI's.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace cascade::openai {

// In all errors, the field is the param.
using Query = std::vector<std::pair<std::string, std::string>>;
// Reads "type", "limit" and "after".
Result<wire::ChunkListRequest> decode_chunk_list(const Query& query);
Result<wire::ChunkPut> decode_chunk_put(std::string_view body);
Result<wire::ChunkUpdate> decode_chunk_update(const std::string& id, std::string_view body);

// The chunk with its text and token ids.
std::string encode_chunk(const wire::ChunkReply& reply);
// Without token ids; texts are cut.
std::string encode_chunk_list(const wire::ChunkListReply& reply);
// Which holder a DELETE gives up: ?name=NAME or ?all=true.
Result<wire::ChunkDelete> decode_chunk_delete(const std::string& id, const Query& query);
// The chunk after a change, as by encode_chunk(), with whether it is "gone" and which holders
// "ended" by the change.
std::string encode_changed_chunk(const wire::ChunkReply& reply);
// {"id","object":OBJECT,"deleted":…,"ended":[…]}: "deleted" says whether the chunk is gone. If the
// chunk still exists, the "holders" that stay are added.
std::string encode_deleted(const std::string& id, const char* object,
                           const wire::ChunkReply& reply);

}  // namespace cascade::openai
