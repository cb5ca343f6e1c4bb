// Clears the unused bytes of a page of SQLite's database.
//
// With secure_delete, SQLite overwrites what is deleted where it is. But when it shares out the
// rows of neighbouring pages anew, copies of rows stay behind in the part of a page that no row
// takes any more, and the deletion of such a row later overwrites the row alone.
//
// Source: https://www.sqlite.org/fileformat2.html, section 1.6 ("B-tree Pages").
#pragma once

#include <cstdint>
#include <span>

namespace cascade {

// Overwrites with zeros the parts of a b-tree page that hold no header, cell or pointer. `page`:
// all of it but the reserved bytes at its end. `number`: from 1; the first page begins with the
// header of the database. Leaves pages alone that are no b-tree pages, or are damaged. Any thread.
void clear_unused(std::span<uint8_t> page, uint64_t number);

}  // namespace cascade
