// The chunk commands.
#include "clients/ctl/chunk_commands.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "clients/ctl/chunk_table.h"
#include "clients/ctl/holder_text.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/stats_text.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/text_input.h"
#include "wire/frames.h"

namespace cascade::ctl {
namespace {

Result<Chunk> delete_by_beginning(client::Client& client, const std::string& id,
                                  const ChunkDeleteOptions& options, client::ChunkChange& change) {
  ASSIGN_OR_RETURN(const Chunk found, client.get_chunk(id));
  return client.delete_chunk(found.id, options.name, options.all, &change);
}

// Adds the holders that the change ended, and whether the chunk was deleted.
void add_end(OrderedJson& object, const client::ChunkChange& change) {
  object["gone"] = change.gone;
  OrderedJson& ended = object["ended"] = OrderedJson::array();
  for (const Holder& holder : change.ended) ended.push_back(to_json_object(holder));
}

void print_deleted(Screen& screen, const Chunk& chunk, const client::ChunkChange& change) {
  if (!screen.json) {
    screen.out << one_line(deletion_text(chunk, change)) << std::endl;
    return;
  }
  OrderedJson line = {{change.gone ? "deleted" : "given_up", chunk.id}};
  add_end(line, change);
  if (!change.gone) line["holders"] = to_json_object(chunk)["holders"];
  print_json(screen, line);
}

// `pinned`: whether the change pins or unpins the chunk; absent if it does neither.
void print_changed(Screen& screen, const Chunk& chunk, const client::ChunkChange& change,
                   std::optional<bool> pinned) {
  if (screen.json) {
    OrderedJson object = to_json_object(chunk);
    add_end(object, change);
    return print_json(screen, object);
  }
  const bool waits = pinned == true && chunk.kv_state != KvState::kReady;
  const std::string state(to_string(chunk.kv_state));
  const std::string pins = pinned == false && !change.gone ? pins_text(chunk) : "";
  screen.out << one_line(change_text(chunk, change) + pins) << (waits ? " (KV: " + state + ")" : "")
             << std::endl;
}

Result<std::string> text_of(const ChunkPutOptions& options, std::istream& in) {
  if (options.text.has_value()) return *options.text;
  const std::string file = options.file.empty() ? kStandardInput : options.file;
  ASSIGN_OR_RETURN(std::string text, read_text(file, in, wire::kTextBytesMax));
  if (text.empty() && file == kStandardInput) return invalid_argument("stdin", "is empty");
  return text;
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

int run_chunk_search(client::Client& client, Screen& screen, const ChunkSearchOptions& options) {
  const auto hits = client.search_chunks(options.query, options.limit);
  if (!hits.ok()) return failed(screen, hits.error());
  if (screen.json) {
    print_json(screen, to_json_object(wire::ChunkSearchReply{*hits}));
  } else if (!hits->empty()) {
    const Ids ids = screen.terminal ? Ids::kShort : Ids::kWhole;
    screen.out << render_hits(*hits, ids, screen.style) << std::flush;
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

int run_chunk_delete(client::Client& client, Screen& screen, const std::vector<std::string>& ids,
                     const ChunkDeleteOptions& options) {
  int code = kExitOk;
  for (const std::string& id : ids) {
    client::ChunkChange change;
    const Result<Chunk> chunk = delete_by_beginning(client, id, options, change);
    if (chunk.ok()) {
      print_deleted(screen, *chunk, change);
    } else {
      code = std::max(code, failed(screen, chunk.error()));
    }
  }
  return code;
}

int run_chunk_put(client::Client& client, Screen& screen, std::istream& in,
                  const ChunkPutOptions& options) {
  wire::ChunkPut put = options.put;
  if (put.token_ids.empty()) {
    Result<std::string> text = text_of(options, in);
    if (!text.ok()) return failed(screen, text.error());
    put.text = *std::move(text);
  }
  const Result<Chunk> chunk = client.put_chunk(std::move(put));
  if (!chunk.ok()) return failed(screen, chunk.error());
  if (screen.json) {
    print_json(screen, to_json_object(*chunk));
  } else {
    screen.out << one_line(chunk->id) << std::endl;
  }
  return kExitOk;
}

int run_chunk_update(client::Client& client, Screen& screen, const std::vector<std::string>& ids,
                     const wire::ChunkUpdate& update) {
  int code = kExitOk;
  for (const std::string& id : ids) {
    wire::ChunkUpdate one = update;
    one.id = id;
    client::ChunkChange change;
    const Result<Chunk> chunk = client.update_chunk(std::move(one), &change);
    if (chunk.ok()) {
      print_changed(screen, *chunk, change, update.pinned);
    } else {
      code = std::max(code, failed(screen, chunk.error()));
    }
  }
  return code;
}

int run_chunk_stats(client::Client& client, Screen& screen) {
  const Result<wire::StatsReply> stats = client.get_chunk_stats();
  if (!stats.ok()) return failed(screen, stats.error());
  if (screen.json) {
    print_json(screen, to_json_object(*stats));
  } else {
    screen.out << render_stats(*stats, screen.style) << std::flush;
  }
  return kExitOk;
}

}  // namespace cascade::ctl
