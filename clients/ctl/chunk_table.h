// Lists of chunks for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "clients/cpp/client.h"
#include "clients/ctl/style.h"

namespace cascade::ctl {

// How ids are shown: whole, or as a beginning that a person can type and the daemon accepts.
enum class Ids { kWhole, kShort };
std::string shown_id(const std::string& id, Ids ids);

// "#  Preview  Tokens  Memory  ID", numbered from 1 in the order of `outputs`. Thoughts are not
// part of a chunk's text, so previews have none.
std::string render_outputs(const std::vector<client::ChunkInfo>& outputs, Ids ids,
                           const Style& style);

// All kinds of chunks; the first column tells outputs ("◀ output") from inputs ("▶ input").
std::string render_chunks(const std::vector<client::ChunkInfo>& chunks, Ids ids,
                          const Style& style);

// Everything about one chunk, and its text.
std::string render_chunk(const Chunk& chunk, const Style& style);

// The hits of a search: id, type, name if the chunk has one, and a part of the text.
std::string render_hits(const std::vector<wire::ChunkSearchHit>& hits, Ids ids, const Style& style);

}  // namespace cascade::ctl
