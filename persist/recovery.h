// Sets a damaged database aside, and saves what is intact in it.
#pragma once

#include <memory>
#include <string>

#include "persist/chain_table.h"
#include "persist/chunk_table.h"
#include "persist/database.h"
#include "persist/finding.h"
#include "persist/kv_store.h"
#include "persist/session_table.h"
#include "persist/state_directory.h"

namespace cascade {

// Opens DIR/metadata.db, brings its schema up to date and verifies its pages. If that shows damage,
// or with `rebuild`, the database is set aside, and a new one is made that is not complete yet.
// Errors as Store::open().
Result<std::unique_ptr<Database>> open_metadata(const StateDirectory& directory,
                                                const SqliteVfs& vfs, bool rebuild,
                                                Findings& findings);

// Copies the intact rows of the database that was set aside, if there is one, to the tables of the
// new one.
Status salvage(const StateDirectory& directory, ChunkTable& chunks, SessionTable& sessions,
               Findings& findings);
// Copies chains of tokens and uses of pages in the same way, and notes which pages each chunk
// accounts for. None of this is lost if the database that was set aside is intact and has at least
// `commits` commits. Call it after salvage(), when the pages have been found.
Status salvage_pages(const StateDirectory& directory, int64_t commits, ChainTable& chains,
                     KvStore& kv);
// The database that was set aside is not needed any more. It is kept for people under another name,
// in place of the previous one. This must succeed before the new database is used, because a
// database that still has the first name takes precedence over one that is not complete. Errors:
// kIo.
Status finish_salvage(const StateDirectory& directory);

}  // namespace cascade
