// The window of a terminal: how wide it is, and whether it obeys escape sequences.
#pragma once

namespace cascade::ctl {

// The columns of the terminal at stdout (stderr) as they are now, 80 if it does not know; 0 if it
// is no terminal. Any thread.
int stdout_columns();
int stderr_columns();

// TERM names a terminal that moves its cursor, has colours and the like.
bool obeys_escapes();

}  // namespace cascade::ctl
