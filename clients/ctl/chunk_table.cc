// Rows of chunk tables, and one chunk in full.
#include "clients/ctl/chunk_table.h"

#include <algorithm>

#include "base/counted.h"
#include "base/sanitized.h"
#include "clients/ctl/facts.h"
#include "clients/ctl/holder_text.h"
#include "clients/ctl/table.h"
#include "clients/ctl/units.h"
#include "clients/ctl/usage_text.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {
namespace {

constexpr int kPreviewColumns = 48;
constexpr int kSnippetColumns = 100;  // about a dozen words
constexpr int kTextColumnsMin = 12;   // for both columns, on a narrow terminal
// The digits of a short id, after "output_" or "chunk_": 32 bits tell some thousand chunks apart.
constexpr size_t kShortDigits = 8;

Cell kind_of(const Chunk& chunk) {
  if (chunk.type == ChunkType::kSummary) return {"◀ summary", Ink::kOutput};
  const bool output = chunk.type == ChunkType::kOutput;
  return output ? Cell{"◀ output", Ink::kOutput} : Cell{"▶ input", Ink::kInput};
}

// Pages that nothing holds stay until their room is needed: "none" would be wrong for them.
std::string kv_text(const Chunk& chunk) {
  const bool some = chunk.kv_bytes > 0 || chunk.kv_disk_bytes > 0;
  if (chunk.kv_state == KvState::kNone && some) return "cached";
  return std::string(to_string(chunk.kv_state));
}

std::string with_newline(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

std::string section(const char* title, const std::string& text, const Style& style) {
  if (text.empty()) return "";
  return "\n" + style.dim(title) + "\n" + with_newline(wrapped(sanitized(text), style.columns()));
}

void add_generation(Facts& facts, const GenerationRecord& record) {
  facts.add("temperature", std::to_string(record.temperature));
  facts.add("top-p", std::to_string(record.top_p));
  facts.add("top-k", record.top_k);
  facts.add("min-p", std::to_string(record.min_p));
  facts.add("repetition penalty", std::to_string(record.repetition_penalty));
  facts.add("presence penalty", std::to_string(record.presence_penalty));
  facts.add("frequency penalty", std::to_string(record.frequency_penalty));
  facts.add("logit biases", record.logit_bias_count);
  facts.add("seed", std::to_string(record.seed));
  facts.add("max tokens", record.max_tokens);
  facts.add("finish reason", record.finish_reason);
  if (record.left_out) facts.add("left out", left_out_text(*record.left_out));
  if (!record.retrieved.empty()) facts.add("brought back", retrieved_text(record.retrieved));
  if (record.summarised) facts.add("summarised", summarised_text(*record.summarised));
  if (record.approximation != Approximation::kNone) {
    facts.add("computed after",
              "KV approximated by " + std::string(to_string(record.approximation)));
  }
}

}  // namespace

std::string shown_id(const std::string& id, Ids ids) {
  const size_t mark = id.find('_');
  if (ids == Ids::kWhole || mark == std::string::npos) return id;
  return id.substr(0, mark + 1 + kShortDigits);
}

std::string render_outputs(const std::vector<client::ChunkInfo>& outputs, Ids ids,
                           const Style& style) {
  std::vector<std::vector<Cell>> rows;
  for (const client::ChunkInfo& info : outputs) {
    rows.push_back({{std::to_string(rows.size() + 1)},
                    {info.chunk.text},
                    {std::to_string(info.tokens)},
                    {format_bytes(info.chunk.kv_bytes)},
                    {shown_id(info.chunk.id, ids), Ink::kDim}});
  }
  return render_table({{"#", Align::kRight},
                       {"Preview", Align::kLeft, kPreviewColumns, kTextColumnsMin},
                       {"Tokens", Align::kRight},
                       {"Memory", Align::kRight},
                       {"ID"}},
                      rows, style);
}

std::string render_chunks(const std::vector<client::ChunkInfo>& chunks, Ids ids,
                          const Style& style) {
  const bool named =
      std::ranges::any_of(chunks, [](const auto& info) { return !info.chunk.name.empty(); });
  std::vector<std::vector<Cell>> rows;
  for (const client::ChunkInfo& info : chunks) {
    const Chunk& chunk = info.chunk;
    rows.push_back({kind_of(chunk),
                    {std::string(to_string(chunk.type))},
                    {chunk.text},
                    {std::to_string(info.tokens)},
                    {format_bytes(chunk.kv_bytes)},
                    {format_bytes(chunk.kv_disk_bytes)},
                    {kv_text(chunk)},
                    {shown_id(chunk.id, ids), Ink::kDim}});
    if (named) rows.back().push_back({chunk.name});
  }
  std::vector<Column> columns = {{"Kind"},
                                 {"Type"},
                                 {"Preview", Align::kLeft, kPreviewColumns, kTextColumnsMin},
                                 {"Tokens", Align::kRight},
                                 {"Memory", Align::kRight},
                                 {"On disk", Align::kRight},
                                 {"KV"},
                                 {"ID"}};
  if (named) columns.push_back({"Name"});
  return render_table(columns, rows, style);
}

std::string render_hits(const std::vector<wire::ChunkSearchHit>& hits, Ids ids,
                        const Style& style) {
  std::vector<std::vector<Cell>> rows;
  for (const wire::ChunkSearchHit& hit : hits) {
    rows.push_back({{shown_id(hit.id, ids), Ink::kDim},
                    {std::string(to_string(hit.type))},
                    {hit.name},
                    {hit.snippet}});
  }
  return render_table(
      {{"ID"}, {"Type"}, {"Name"}, {"Snippet", Align::kLeft, kSnippetColumns, kTextColumnsMin}},
      rows, style);
}

std::string render_chunk(const Chunk& chunk, const Style& style) {
  Facts facts;
  facts.add("id", chunk.id);
  if (!chunk.name.empty()) facts.add("name", chunk.name);
  facts.add("type", std::string(to_string(chunk.type)));
  facts.add("tenant", chunk.tenant);
  facts.add("content hash", chunk.content_hash);
  facts.add("tokens", std::to_string(chunk.token_ids.size()));
  // A text has no chain of its own, only the chains of the prompts that contain it.
  const std::string tokens = chunk.kv_tokens > 0 ? counted(chunk.kv_tokens, "token") + ", " : "";
  facts.add("KV cache", kv_text(chunk) + ", " + tokens + format_bytes(chunk.kv_bytes));
  facts.add("on disk",
            counted(chunk.kv_disk_pages, "page") + ", " + format_bytes(chunk.kv_disk_bytes));
  facts.add("created", format_time(chunk.created_us));
  facts.add("last used", format_time(chunk.last_used_us));
  facts.add("hits", chunk.hits);
  facts.add("registrations", chunk.registrations);
  facts.add("pinned", chunk.pinned ? "yes" : "no");
  facts.add("expires", format_time(chunk.expires_us));
  const bool falls_back = chunk.priority_until_us != 0;
  facts.add("priority", std::to_string(chunk.priority) +
                            (falls_back ? " until " + format_time(chunk.priority_until_us) : ""));
  for (const Holder& holder : chunk.holders) facts.add("held by", holder_text(holder));
  if (chunk.published) facts.add("published", "to every tenant");
  for (const std::string& parent : chunk.parent_ids) facts.add("parent", parent);
  if (chunk.type == ChunkType::kOutput) {
    facts.add("think blocks", std::to_string(chunk.think_spans.size()));
    facts.add("think policy", std::string(to_string(chunk.think_policy)));
    if (chunk.kv_approximation != Approximation::kNone) {
      facts.add("approximate KV", "by " + std::string(to_string(chunk.kv_approximation)));
    }
    add_generation(facts, chunk.generation);
  }
  return facts.render(style) + section("Question", chunk.query_text, style) +
         section("Text", chunk.text, style);
}

}  // namespace cascade::ctl
