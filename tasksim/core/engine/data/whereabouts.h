// Whereabouts of a datum, in masks of memories.
#pragma once

#include "../../problem.h"

namespace tasksim {

inline u64 bit(int memory) { return u64{1} << memory; }

// What is looked at together lies together: where there are copies of a datum, where it has a
// place, where a copy is on its way; and its bytes.
struct Whereabouts {
  u64 valid, places, coming;
  i64 size;
};

}  // namespace tasksim
