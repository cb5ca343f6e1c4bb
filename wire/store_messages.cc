// PageUses, the list of page uses that is kept field by field.
#include "wire/store_messages.h"

#include <algorithm>
#include <utility>

namespace cascade::wire {

void PageUses::add(PageUse use) {
  keys.push_back(std::move(use.key));
  positions.push_back(use.position);
  tenants.push_back(std::move(use.tenant));
  chunk_ids.push_back(std::move(use.chunk_id));
  ends.push_back(use.ends);
}

size_t PageUses::size() const {
  return std::min({keys.size(), positions.size(), tenants.size(), chunk_ids.size(), ends.size()});
}

PageUse PageUses::at(size_t i) const {
  return {keys[i], positions[i], tenants[i], chunk_ids[i], ends[i]};
}

}  // namespace cascade::wire
