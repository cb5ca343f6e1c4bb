// Column widths, padding, colours.
#include "clients/ctl/table.h"

#include <algorithm>
#include <numeric>

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

using Rows = std::vector<std::vector<Cell>>;

int width_of(const std::vector<int>& widths) {
  const int gaps = display_width(kGap) * (static_cast<int>(widths.size()) - 1);
  return std::accumulate(widths.begin(), widths.end(), gaps);
}

// The width of each column: that of its title or of its widest cell.
std::vector<int> natural_widths(const std::vector<Column>& columns, const Rows& rows) {
  std::vector<int> widths;
  for (const Column& column : columns) widths.push_back(display_width(column.title));
  for (const std::vector<Cell>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  return widths;
}

// Narrows the widest column that may be cut, again and again, until the table is `wanted` wide or
// no column may be narrower.
void cut(const std::vector<Column>& columns, int wanted, std::vector<int>& widths) {
  for (int excess = width_of(widths) - wanted; excess > 0; --excess) {
    size_t widest = columns.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      const int least = std::max(columns[i].width_min, display_width(columns[i].title));
      if (columns[i].width_min == 0 || widths[i] <= least) continue;
      if (widest == columns.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == columns.size()) return;
    --widths[widest];
  }
}

std::string lines_of(const std::vector<Column>& columns, const Rows& rows,
                     const std::vector<int>& widths, const Style& style) {
  std::string out;
  for (const std::vector<Cell>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool right = columns[i].align == Align::kRight;
      const bool last = i + 1 == row.size();
      const std::string shown = fitted(row[i].text, widths[i]);
      // No spaces at the end of a line.
      const std::string text = last && !right ? shown : padded(shown, widths[i], right);
      out += painted(text, row[i].ink, style) + (last ? "\n" : kGap);
    }
  }
  return out;
}

// Each row as lines of a title and a value. Values of columns that may be cut are cut at the end of
// the line.
std::string blocks_of(const std::vector<Column>& columns, const Rows& rows, const Style& style) {
  int title_width = 0;
  for (const Column& column : columns) {
    title_width = std::max(title_width, display_width(column.title));
  }
  const int value_width = std::max(style.columns() - title_width - display_width(kGap), 1);
  std::string out;
  for (const std::vector<Cell>& row : rows) {
    if (!out.empty()) out += '\n';
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].text.empty()) continue;
      const bool may_cut = columns[i].width_min > 0;
      const std::string value = may_cut ? fitted(row[i].text, value_width) : row[i].text;
      out += style.dim(padded(columns[i].title, title_width, false)) + kGap +
             painted(value, row[i].ink, style) + '\n';
    }
  }
  return out;
}

}  // namespace

std::string render_table(const std::vector<Column>& columns, const Rows& rows, const Style& style) {
  Rows cells = rows;
  for (std::vector<Cell>& row : cells) {
    CHECK(row.size() == columns.size());
    for (size_t i = 0; i < row.size(); ++i) {
      row[i].text = fitted(one_line(row[i].text), columns[i].width_max);
    }
  }
  std::vector<int> widths = natural_widths(columns, cells);
  if (const int end = style.columns(); end > 0 && width_of(widths) > end) {
    cut(columns, end, widths);
    if (width_of(widths) > end && !cells.empty()) return blocks_of(columns, cells, style);
  }
  std::vector<Cell> header;
  for (const Column& column : columns) header.push_back({column.title, Ink::kDim});
  cells.insert(cells.begin(), header);
  return lines_of(columns, cells, widths, style);
}

}  // namespace cascade::ctl
