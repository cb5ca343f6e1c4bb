// Clears the unused bytes of a page of SQLite's database.
//
// With secure_delete, SQLite overwrites deleted rows in place. But when it distributes the rows of
// neighbouring pages anew, copies of rows remain in the part of a page that no row uses any more.
// When such a row is deleted later, only the row itself is overwritten.
//
// Source: https://www.sqlite.org/fileformat2.html, section 1.6 ("B-tree Pages").
#pragma once

#include <cstdint>
#include <span>

namespace cascade {

// Overwrites with zeros the parts of a b-tree page that hold no header, cell or pointer. `page`:
// all of the page except the reserved bytes at its end. `number`: from 1; the first page begins
// with the header of the database. A page that is not a b-tree page, or is damaged, stays as it is.
// Any thread.
void clear_unused(std::span<uint8_t> page, uint64_t number);

}  // namespace cascade
