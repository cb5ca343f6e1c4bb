// The window of a terminal: how wide it is, and whether it obeys escape sequences.
#pragma once

namespace cascade::ctl {

// The current columns of the terminal at stdout (stderr); 80 if it does not know them; 0 if it is
// not a terminal. Any thread.
int stdout_columns();
int stderr_columns();

// Whether TERM names a terminal that moves its cursor, has colours and the like.
bool obeys_escapes();

}  // namespace cascade::ctl
