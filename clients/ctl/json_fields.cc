// Lists of chunks as JSON.
#include "clients/ctl/json_fields.h"

namespace cascade::ctl {

OrderedJson json_of_list(const std::vector<client::ChunkInfo>& chunks) {
  OrderedJson list = OrderedJson::array();
  for (const client::ChunkInfo& info : chunks) {
    OrderedJson entry = to_json_object(info.chunk);
    entry.erase("token_ids");  // lists have none
    entry["tokens"] = info.tokens;
    list.push_back(std::move(entry));
  }
  OrderedJson object;
  object["chunks"] = std::move(list);
  return object;
}

}  // namespace cascade::ctl
