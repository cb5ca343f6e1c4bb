// Tables for people: aligned columns of any script.
#pragma once

#include <string>
#include <vector>

#include "clients/ctl/style.h"

namespace cascade::ctl {

enum class Align { kLeft, kRight };
enum class Ink { kPlain, kDim, kOutput, kInput };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  int width_max = 60;  // longer cells are cut
  int width_min = 0;   // cells may be cut down to this where lines are short; 0: they may not
};

struct Cell {
  std::string text;  // any text: it is sanitised and put on one line
  Ink ink = Ink::kPlain;
};

// The header and one line for each row, each with its newline. If lines would be longer than
// style.columns(), cells are cut. If that is not enough, each row becomes a block of names and
// values, with an empty line between blocks. Precondition: every row has as many cells as there are
// columns.
std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<Cell>>& rows, const Style& style);

}  // namespace cascade::ctl
