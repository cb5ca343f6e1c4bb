// The session commands.
#include "clients/ctl/session_commands.h"

#include <utility>
#include <vector>

#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/session_table.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

Result<std::vector<ShownTurn>> look_up(client::Client& client,
                                       const std::vector<SessionTurn>& turns) {
  std::vector<ShownTurn> shown;
  for (const SessionTurn& turn : turns) {
    Result<Chunk> output = client.get_chunk(turn.output_id);
    if (!output.ok() && output.error().code != ErrorCode::kNotFound) return output.error();
    shown.push_back({turn, std::nullopt});
    if (output.ok()) shown.back().output = *std::move(output);
  }
  return shown;
}

// {"session": {...}, "turns": [...]}: each turn has its question and answer, or says that its
// output is gone.
OrderedJson json_of(const wire::SessionInfo& session, const std::vector<ShownTurn>& turns) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [turn, output] : turns) {
    OrderedJson entry = to_json_object(turn);
    entry["gone"] = !output.has_value();
    if (output) {
      entry["query_text"] = output->query_text;
      entry["text"] = output->text;
    }
    list.push_back(std::move(entry));
  }
  OrderedJson object;
  object["session"] = to_json_object(session);
  object["turns"] = std::move(list);
  return object;
}

}  // namespace

int run_session_list(client::Client& client, Screen& screen, int32_t limit) {
  auto sessions = client.list_sessions(limit);
  if (!sessions.ok()) return failed(screen, sessions.error());
  if (screen.json) {
    print_json(screen, to_json_object(wire::SessionListReply{*std::move(sessions)}));
  } else if (!sessions->empty()) {
    screen.out << render_sessions(*sessions, screen.style) << std::flush;
  }
  return kExitOk;
}

int run_session_show(client::Client& client, Screen& screen, const std::string& name) {
  const auto reply = client.get_session(name);
  if (!reply.ok()) return failed(screen, reply.error());
  const auto turns = look_up(client, reply->turns);
  if (!turns.ok()) return failed(screen, turns.error());
  if (screen.json) {
    print_json(screen, json_of(reply->session, *turns));
  } else {
    const Ids ids = screen.terminal ? Ids::kShort : Ids::kWhole;
    screen.out << render_session(reply->session, *turns, ids, screen.style) << std::flush;
  }
  return kExitOk;
}

int run_session_delete(client::Client& client, Screen& screen, const SessionOptions& options) {
  const auto deleted = client.delete_session(options.name, options.outputs);
  if (!deleted.ok()) return failed(screen, deleted.error());
  if (screen.json) {
    OrderedJson object = {{"deleted", deleted->session.id}};
    object["outputs"] = to_json_object(*deleted)["outputs"];
    print_json(screen, object);
    return kExitOk;
  }
  screen.out << "deleted " << one_line(deleted->session.id) << "\n";
  for (const wire::SessionOutput& output : deleted->outputs) {
    const std::string end = output.gone ? " is gone" : " stays, held by " + output.held_by;
    screen.out << one_line(output.id + end) << "\n";
  }
  screen.out << std::flush;
  return kExitOk;
}

}  // namespace cascade::ctl
