// cascadectl chunk list, show and delete. Each returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

int run_chunk_list(client::Client& client, Screen& screen, const ChunkListOptions& options);
int run_chunk_show(client::Client& client, Screen& screen, const std::string& id);
// Goes on behind ids that fail. `ids` may be beginnings.
int run_chunk_delete(client::Client& client, Screen& screen, const std::vector<std::string>& ids);

}  // namespace cascade::ctl
