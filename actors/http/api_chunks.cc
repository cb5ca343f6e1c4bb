// Chunks: list, get, create, change, delete.
#include "actors/http/answers.h"
#include "actors/http/api.h"
#include "wire/openai/chunk_routes.h"
#include "wire/request_rules.h"

namespace cascade {

Task<bool> Api::chunks(HttpCall& call) {
  const http::Action action = call.action;
  Result<wire::Message> decoded = decode_chunk_call(call);
  if (!decoded.ok()) {
    const bool sent = co_await fail(call, openai::api_error(decoded.error()));
    co_return sent;
  }
  Exchange exchange(link_, call.tenant, call.model);
  const WatchedExchange watched(call.connection, exchange);
  const std::optional<wire::Message> answer = co_await exchange.call(*std::move(decoded));
  if (!answer) co_return false;
  const bool list = action == http::Action::kListChunks;
  const auto wrong =
      list ? problem<wire::ChunkListReply>(*answer) : problem<wire::ChunkReply>(*answer);
  if (wrong) {
    const bool sent = co_await fail(call, *wrong);
    co_return sent;
  }
  std::string body;
  if (list) {
    body = openai::encode_chunk_list(std::get<wire::ChunkListReply>(*answer));
  } else if (action == http::Action::kDeleteChunk) {
    const auto& reply = std::get<wire::ChunkReply>(*answer);
    body = openai::encode_deleted(reply.chunk.id, "chunk.deleted", reply);
  } else if (action == http::Action::kUpdateChunk) {
    body = openai::encode_changed_chunk(std::get<wire::ChunkReply>(*answer));
  } else {
    body = openai::encode_chunk(std::get<wire::ChunkReply>(*answer));
  }
  const bool sent = co_await send(call, std::move(body));
  co_return sent;
}

Result<wire::Message> Api::decode_chunk_call(HttpCall& call) {
  const std::string body = std::exchange(call.request.body, {});
  switch (call.action) {
    case http::Action::kListChunks: {
      ASSIGN_OR_RETURN(wire::Message list,
                       openai::decode_chunk_list(http::parse_query(call.request.query)));
      return list;
    }
    case http::Action::kPutChunk: {
      ASSIGN_OR_RETURN(wire::Message put, openai::decode_chunk_put(body));
      return put;
    }
    case http::Action::kUpdateChunk: {
      ASSIGN_OR_RETURN(wire::Message update, openai::decode_chunk_update(call.id, body));
      return update;
    }
    case http::Action::kGetChunk: {
      const wire::ChunkGet get = {call.id};
      RETURN_IF_ERROR(wire::check_request(get));
      return wire::Message(get);
    }
    default: {
      ASSIGN_OR_RETURN(wire::Message remove,
                       openai::decode_chunk_delete(call.id, http::parse_query(call.request.query)));
      return remove;
    }
  }
}

}  // namespace cascade
