// The cascadectl chunk commands. Each returns the exit code.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

int run_chunk_list(client::Client& client, Screen& screen, const ChunkListOptions& options);
int run_chunk_search(client::Client& client, Screen& screen, const ChunkSearchOptions& options);
int run_chunk_show(client::Client& client, Screen& screen, const std::string& id);
// Continues after ids that fail. `ids` may be beginnings.
int run_chunk_delete(client::Client& client, Screen& screen, const std::vector<std::string>& ids,
                     const ChunkDeleteOptions& options);

// The text is the given one, the file's, or all of `in`. Prints the chunk's id.
int run_chunk_put(client::Client& client, Screen& screen, std::istream& in,
                  const ChunkPutOptions& options);
// Makes the same change to each chunk, and continues after ids that fail. `ids` may be beginnings.
int run_chunk_update(client::Client& client, Screen& screen, const std::vector<std::string>& ids,
                     const wire::ChunkUpdate& update);
int run_chunk_stats(client::Client& client, Screen& screen);

}  // namespace cascade::ctl
