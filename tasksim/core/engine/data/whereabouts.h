// Whereabouts of a datum, in masks of memories.
#pragma once

#include "../../problem.h"

namespace tasksim {

inline u64 bit(int memory) { return u64{1} << memory; }

// Fields that are used together lie together: the memories with copies of a datum, those with a
// place for it, those with a copy on its way; and its bytes.
struct Whereabouts {
  u64 valid, places, coming;
  i64 size;
};

}  // namespace tasksim
