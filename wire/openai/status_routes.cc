// The members of the answers are the fields of the messages, read from the messages' encoding.
#include "wire/openai/status_routes.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "wire/frames.h"
#include "wire/openai/json_text.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

// The fields of the status that a tenant sees of a daemon that it shares with others.
constexpr std::array<std::string_view, 8> kOfEveryone = {
    "version",    "boot_id",     "state",   "model",
    "model_type", "weight_type", "kv_type", "context_tokens_max"};

bool is_of_everyone(std::string_view key) {
  return std::ranges::find(kOfEveryone, key) != kOfEveryone.end();
}

OrderedJson json_of(wire::Message message) {
  constexpr size_t kBody = 2;  // the frame after the header and the request id
  return OrderedJson::from_msgpack(wire::encode({{}, std::move(message)})->at(kBody));
}

Status read_integer(const std::string& key, const std::string& value, auto& number) {
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc() && stop == end) return {};
  return invalid_argument(key, "must be a whole number");
}

}  // namespace

std::string encode_status(const std::string& tenant, const wire::StatusReply& status,
                          const wire::StatsReply& stats, bool whole) {
  OrderedJson result;
  result["object"] = "status";
  result["tenant"] = tenant;
  const OrderedJson all = json_of(status);
  OrderedJson& told = result["status"] = OrderedJson::object();
  for (const auto& [key, value] : all.items()) {
    if (whole || is_of_everyone(key)) told[key] = value;
  }
  OrderedJson& counted = result["stats"] = json_of(stats);
  if (!whole) {
    counted.erase("cache");
    counted.erase("disk");
  }
  return json_text(result);
}

Result<wire::EventsRequest> decode_event_list(
    const std::vector<std::pair<std::string, std::string>>& query) {
  wire::EventsRequest request;
  for (const auto& [key, value] : query) {
    if (key == "after") RETURN_IF_ERROR(read_integer(key, value, request.after));
    if (key == "limit") RETURN_IF_ERROR(read_integer(key, value, request.limit));
    if (key == "boot_id") request.boot_id = value;
  }
  RETURN_IF_ERROR(wire::check_request(request));
  return request;
}

std::string encode_event_list(const wire::EventsReply& reply) {
  OrderedJson json = json_of(reply);
  OrderedJson result;
  result["object"] = "list";
  result["data"] = std::move(json["events"]);
  for (const char* key : {"boot_id", "last", "gap"}) result[key] = std::move(json[key]);
  return json_text(result);
}

}  // namespace cascade::openai
