// A database that is damaged: put aside, and what is good of it saved.
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
// or if `rebuild` says so, it is set aside and a new one is made, which is not complete yet.
// Errors as Store::open().
Result<std::unique_ptr<Database>> open_metadata(const StateDirectory& directory,
                                                const SqliteVfs& vfs, bool rebuild,
                                                Findings& findings);

// Copies the rows that are as they were written from the database that was set aside, if there is
// one, to the tables of the new one.
Status salvage(const StateDirectory& directory, ChunkTable& chunks, SessionTable& sessions,
               Findings& findings);
// Copies chains of tokens and uses of pages in the same way, and notes which pages each chunk
// accounts for. Nothing of that is lost if what was set aside is not damaged, and has at least
// `commits` commits. Call it after salvage(), when the pages have been found.
Status salvage_pages(const StateDirectory& directory, int64_t commits, ChainTable& chains,
                     KvStore& kv);
// What was set aside is not needed any more: it is kept for people under another name, instead of
// the one before. Must succeed before the new database is used: what is set aside under the first
// name counts for more than a database that is not complete. Errors: kIo.
Status finish_salvage(const StateDirectory& directory);

}  // namespace cascade
