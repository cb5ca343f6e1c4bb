// Column widths, padding, colours.
#include "clients/ctl/table.h"

#include <algorithm>

#include "base/check.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

constexpr const char* kGap = "  ";

std::string painted(const std::string& text, Ink ink, const Style& style) {
  switch (ink) {
    case Ink::kPlain: return text;
    case Ink::kDim: return style.dim(text);
    case Ink::kOutput: return style.output(text);
    case Ink::kInput: return style.input(text);
  }
  return text;
}

}  // namespace

std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<Cell>>& rows, const Style& style) {
  std::vector<int> widths;
  for (const Column& column : columns) widths.push_back(display_width(column.title));
  std::vector<std::vector<Cell>> cells = rows;
  for (std::vector<Cell>& row : cells) {
    CHECK(row.size() == columns.size());
    for (size_t i = 0; i < row.size(); ++i) {
      row[i].text = fitted(one_line(row[i].text), columns[i].width_max);
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  std::vector<Cell> header;
  for (const Column& column : columns) header.push_back({column.title, Ink::kDim});
  cells.insert(cells.begin(), header);

  std::string out;
  for (const std::vector<Cell>& row : cells) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool right = columns[i].align == Align::kRight;
      const bool last = i + 1 == row.size();
      // No spaces at the end of a line.
      const std::string text = last && !right ? row[i].text : padded(row[i].text, widths[i], right);
      out += painted(text, row[i].ink, style) + (last ? "\n" : kGap);
    }
  }
  return out;
}

}  // namespace cascade::ctl
