// The older name of tests/seed.h.
#pragma once

#include "tests/seed.h"
