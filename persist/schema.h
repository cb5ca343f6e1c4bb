// The tables of metadata.db, and how older versions of them become the current one.
#pragma once

#include <cstdint>
#include <span>

#include "persist/database.h"

namespace cascade {

// "CSCD": tells the file from other programs' SQLite databases.
inline constexpr int64_t kApplicationId = 0x43534344;

// Statements that make version n + 1 of the schema from version n, where n is the place in the
// list; the first makes it from nothing. Statements that were released are never changed; new ones
// are added.
using Migrations = std::span<const char* const>;
Migrations schema_migrations();

// Brings the schema to the last version, in one transaction for each step. So a process that is
// killed in between leaves a version from which the next start continues.
// Errors: kUnsupported if the schema is newer, kDataCorrupt if the database is another program's,
// and those of Database.
Status migrate(Database& database, Migrations migrations = schema_migrations());

}  // namespace cascade
