// The tables of metadata.db, and how older ones become the ones of today.
#pragma once

#include <cstdint>
#include <span>

#include "persist/database.h"

namespace cascade {

// "CSCD": tells the file from other programs' SQLite databases.
inline constexpr int64_t kApplicationId = 0x43534344;

// Statements that make version n + 1 of the schema from version n, where n is the place in the
// list; the first makes it from nothing. What was released is never changed, only added to.
using Migrations = std::span<const char* const>;
Migrations schema_migrations();

// Brings the schema to the last version, in one transaction for each step, so that a process that
// is killed in between leaves a version that the next start goes on from.
// Errors: kUnsupported if the schema is newer, kDataCorrupt if the database is another program's,
// and those of Database.
Status migrate(Database& database, Migrations migrations = schema_migrations());

}  // namespace cascade
