// Reads lines of JSON and checks them field by field.
#include "bench/cache/trace.h"

#include <unordered_set>

#include "bench/json_lines.h"

namespace cascade::speed {
namespace {

constexpr int64_t kTimestampMsMax = int64_t{1} << 42;    // a century
constexpr size_t kBlocksMax = size_t{1} << 20;           // in one request: half a billion tokens
constexpr size_t kAllBlocksMax = size_t{1} << 28;        // in one trace: 2 GiB of ids
constexpr int64_t kBlockIdMax = (int64_t{1} << 28) - 1;  // so that a page's number fits a token id

Error at(const std::string& path, const bench::InputLine& line, const Error& error) {
  return data_corrupt(path + ":" + std::to_string(line.number) + ": " + error.field, error.message);
}

Result<TraceRequest> request_of(const Json& object) {
  TraceRequest request;
  ASSIGN_OR_RETURN(const int64_t ms, required_int(object, "timestamp", 0, kTimestampMsMax));
  request.time_us = ms * 1000;
  const auto ids = object.find("hash_ids");
  if (ids == object.end() || !ids->is_array()) {
    return invalid_argument("hash_ids", "must be a list of block ids");
  }
  if (ids->size() > kBlocksMax) {
    return invalid_argument("hash_ids", "has " + std::to_string(ids->size()) +
                                            " ids; the limit is " + std::to_string(kBlocksMax));
  }
  for (const Json& id : *ids) {
    if (!id.is_number_integer() || id.get<double>() < 0 ||
        id.get<double>() > static_cast<double>(kBlockIdMax)) {
      return invalid_argument("hash_ids",
                              "must be whole numbers from 0 to " + std::to_string(kBlockIdMax));
    }
    request.blocks.push_back(id.get<int64_t>());
  }
  return request;
}

}  // namespace

Result<std::vector<TraceRequest>> read_trace(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<bench::InputLine> lines, bench::read_json_lines(path));
  std::vector<TraceRequest> trace;
  size_t blocks = 0;
  for (const bench::InputLine& line : lines) {
    auto request = request_of(line.object);
    if (!request.ok()) return at(path, line, request.error());
    if (!trace.empty() && request->time_us < trace.back().time_us) {
      return at(path, line,
                invalid_argument("timestamp", "is earlier than that of the previous line"));
    }
    blocks += request->blocks.size();
    if (blocks > kAllBlocksMax) {
      return at(
          path, line,
          invalid_argument("hash_ids", "there are more than " + std::to_string(kAllBlocksMax) +
                                           " in all, the limit"));
    }
    trace.push_back(*std::move(request));
  }
  if (blocks == 0) return data_corrupt(path, "has no blocks");
  return trace;
}

int64_t unique_blocks(const std::vector<TraceRequest>& trace) {
  std::unordered_set<int64_t> ids;
  for (const TraceRequest& request : trace)
    ids.insert(request.blocks.begin(), request.blocks.end());
  return static_cast<int64_t>(ids.size());
}

}  // namespace cascade::speed
