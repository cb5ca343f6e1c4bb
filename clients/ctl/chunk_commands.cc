// The chunk commands.
#include "clients/ctl/chunk_commands.h"

#include <algorithm>

#include "clients/ctl/chunk_table.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

int failed(Screen& screen, const Error& error) {
  print_error(screen, error);
  return exit_code_of(error);
}

Result<Chunk> delete_by_beginning(client::Client& client, const std::string& id) {
  ASSIGN_OR_RETURN(const Chunk found, client.get_chunk(id));
  return client.delete_chunk(found.id);
}

}  // namespace

int run_chunk_list(client::Client& client, Screen& screen, const ChunkListOptions& options) {
  const auto chunks = client.list_all_chunks(options.type, options.limit);
  if (!chunks.ok()) return failed(screen, chunks.error());
  if (screen.json) {
    print_json(screen, json_of_list(*chunks));
  } else if (!chunks->empty()) {
    const Ids ids = screen.terminal ? Ids::kShort : Ids::kWhole;
    screen.out << render_chunks(*chunks, ids, screen.style) << std::flush;
  }
  return kExitOk;
}

int run_chunk_show(client::Client& client, Screen& screen, const std::string& id) {
  const Result<Chunk> chunk = client.get_chunk(id);
  if (!chunk.ok()) return failed(screen, chunk.error());
  if (screen.json) {
    print_json(screen, to_json_object(*chunk));
  } else {
    screen.out << render_chunk(*chunk, screen.style) << std::flush;
  }
  return kExitOk;
}

int run_chunk_delete(client::Client& client, Screen& screen, const std::vector<std::string>& ids) {
  int code = kExitOk;
  for (const std::string& id : ids) {
    const Result<Chunk> chunk = delete_by_beginning(client, id);
    if (!chunk.ok()) {
      code = std::max(code, failed(screen, chunk.error()));
    } else if (screen.json) {
      print_json(screen, OrderedJson{{"deleted", chunk->id}});
    } else {
      screen.out << "deleted " << one_line(chunk->id) << std::endl;
    }
  }
  return code;
}

}  // namespace cascade::ctl
