// The specification of the choice of pages.
#pragma once

#include "kernels/page_choice.h"

namespace cascade::scalar {

void choose_pages(const ChoosePagesArgs& args);

}  // namespace cascade::scalar
