// One phrase for each kind of holder.
#include "clients/ctl/holder_text.h"

#include "clients/ctl/units.h"

namespace cascade::ctl {
namespace {

std::string who(const Holder& holder) {
  const std::string label = '"' + holder.label + '"';
  switch (holder.kind) {
    case HolderKind::kRetention:
      return holder.count == 1 ? "a retention" : std::to_string(holder.count) + " retentions";
    case HolderKind::kRequest: return "a request that brought it along";
    case HolderKind::kName: return "the name " + label;
    case HolderKind::kSession: return "a turn of session " + label;
    case HolderKind::kPin: return "a pin";
  }
  return "a holder";
}

}  // namespace

std::string holder_text(const Holder& holder) {
  std::string text = who(holder);
  if (holder.pinned && holder.kind != HolderKind::kPin) text += ", pinned";
  if (holder.expires_us != 0) text += " until " + format_time(holder.expires_us);
  return text;
}

std::string holders_text(const std::vector<Holder>& holders) {
  std::string text;
  for (const Holder& holder : holders) text += (text.empty() ? "" : ", ") + holder_text(holder);
  return text;
}

std::string deletion_text(const Chunk& chunk, const client::ChunkChange& change) {
  std::string text = (change.gone ? "deleted " : "given up ") + chunk.id;
  if (!change.ended.empty()) text += "; ended: " + holders_text(change.ended);
  if (!change.gone) text += "; it is still held by " + holders_text(chunk.holders);
  return text;
}

std::string pins_text(const Chunk& chunk) {
  std::string pins;
  for (const Holder& holder : chunk.holders) {
    if (holder.pinned) pins += (pins.empty() ? "" : ", ") + who(holder);
  }
  return pins.empty() ? pins : "; still pinned by " + pins + ": unpin it again";
}

std::string change_text(const Chunk& chunk, const client::ChunkChange& change) {
  std::string text = chunk.id + (change.gone ? " is gone" : "");
  if (change.ended.empty()) return text;
  text += " (ended: " + holders_text(change.ended);
  if (!change.gone) text += "; held by " + holders_text(chunk.holders);
  return text + ")";
}

}  // namespace cascade::ctl
