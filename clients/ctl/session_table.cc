// Columns of sessions and turns.
#include "clients/ctl/session_table.h"

#include "clients/ctl/facts.h"
#include "clients/ctl/table.h"
#include "clients/ctl/units.h"
#include "clients/ctl/usage_text.h"

namespace cascade::ctl {
namespace {

constexpr int kSessionColumns = 128;  // whole names are shown, because commands need them
constexpr int kTurnColumns = 40;
constexpr int kTurnColumnsMin = 12;  // on a narrow terminal

}  // namespace

std::string render_sessions(const std::vector<wire::SessionInfo>& sessions, const Style& style) {
  std::vector<std::vector<Cell>> rows;
  for (const wire::SessionInfo& session : sessions) {
    rows.push_back({{session.id},
                    {std::to_string(session.turns)},
                    {format_time(session.created_us)},
                    {format_time(session.last_used_us)}});
  }
  return render_table({{"Name", Align::kLeft, kSessionColumns},
                       {"Turns", Align::kRight},
                       {"Created"},
                       {"Last used"}},
                      rows, style);
}

std::string render_session(const wire::SessionInfo& session, const std::vector<ShownTurn>& turns,
                           Ids ids, const Style& style) {
  Facts facts;
  facts.add("name", session.id);
  facts.add("turns", session.turns);
  facts.add("created", format_time(session.created_us));
  facts.add("last used", format_time(session.last_used_us));
  if (session.on_overflow) facts.add("on overflow", std::string(to_string(*session.on_overflow)));
  if (session.left_out_turns) {
    facts.add("left out",
              "turns 1 to " + std::to_string(*session.left_out_turns) + ", for lack of room");
  }
  if (!session.retrieved.empty()) {
    facts.add("brought back", retrieved_text(session.retrieved) + ", for the newest question");
  }
  if (session.summarised) facts.add("summarised", summarised_text(*session.summarised));
  std::vector<std::vector<Cell>> rows;
  for (const auto& [turn, output] : turns) {
    const Cell gone = {"gone", Ink::kDim};
    rows.push_back({{std::to_string(turn.number + 1)},
                    output ? Cell{output->query_text} : gone,
                    output ? Cell{output->text} : gone,
                    {shown_id(turn.output_id, ids), Ink::kDim}});
  }
  return facts.render(style) + "\n" +
         render_table({{"#", Align::kRight},
                       {"Question", Align::kLeft, kTurnColumns, kTurnColumnsMin},
                       {"Answer", Align::kLeft, kTurnColumns, kTurnColumnsMin},
                       {"Output"}},
                      rows, style);
}

}  // namespace cascade::ctl
