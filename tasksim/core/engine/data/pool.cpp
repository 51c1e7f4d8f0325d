#include "pool.h"

#include <algorithm>
#include <cmath>

namespace tasksim {

Pool::Pool(double limit, const tasksim_platform &platform)
    : unit_(platform.unit_bytes),
      largest_(platform.largest_bytes),
      room_(limit * platform.usable),
      limit_(room_),
      chunk_units_(static_cast<i64>(std::floor(platform.chunk_bytes / unit_))) {}

i64 Pool::units_of(double size) const { return static_cast<i64>(std::ceil(size / unit_)); }

bool Pool::fits(std::span<const i64> sizes) const {
  double sum = 0.0;
  for (const i64 size : sizes)
    sum += size <= largest_ ? units_of(static_cast<double>(size)) * unit_ : size;
  return sum <= limit_;
}

std::optional<DriverCalls> Pool::allocate(i64 size) {
  if (size <= largest_) return allocate_units(units_of(static_cast<double>(size)));
  const auto kept = kept_.find(size);
  if (kept != kept_.end() && kept->second) {
    --kept->second;
    kept_bytes_ -= size;
    return DriverCalls{};
  }
  return allocate_alone(static_cast<double>(size));
}

void Pool::give_back(i64 size) {
  if (size > largest_) {
    ++kept_[size];
    kept_bytes_ += size;
    return;
  }
  const i64 units = units_of(static_cast<double>(size));
  for (i64 &free : chunks_)
    if (free + units <= chunk_units_) {
      free += units;
      free_ += units;
      return;
    }
  room_ += units * unit_;
}

std::optional<DriverCalls> Pool::allocate_units(i64 units) {
  if (free_ >= units)
    for (i64 &free : chunks_)
      if (free >= units) {
        free -= units;
        free_ -= units;
        return DriverCalls{};
      }
  const double chunk = chunk_units_ * unit_;
  const i64 released = release_kept(chunk);
  if (chunk <= room_) {
    room_ -= chunk;
    chunks_.push_back(chunk_units_ - units);
    free_ += chunk_units_ - units;
    return DriverCalls{1, released};
  }
  const auto found = allocate_alone(units * unit_);
  if (!found) return std::nullopt;
  return DriverCalls{1, released + found->releases};
}

std::optional<DriverCalls> Pool::allocate_alone(double size) {
  const double unused = room_ + kept_bytes_;
  if (size > unused + free_ * unit_) return std::nullopt;
  const i64 released = release_kept(std::min(size, unused));
  if (size > room_) scrape_together(units_of(size - room_));
  room_ -= size;
  return DriverCalls{1, released};
}

// Takes units from the rest of chunks: the last resort.
void Pool::scrape_together(i64 units) {
  free_ -= units;
  room_ += units * unit_;
  for (i64 &free : chunks_) {
    const i64 taken = std::min(free, units);
    free -= taken;
    units -= taken;
  }
}

// Releases kept blocks, if that frees *size* bytes; returns their number.
i64 Pool::release_kept(double size) {
  i64 released = 0;
  if (room_ + kept_bytes_ < size) return released;
  for (auto &[bytes, count] : kept_)
    while (count && room_ < size) {
      --count;
      room_ += bytes;
      kept_bytes_ -= bytes;
      ++released;
    }
  return released;
}

}  // namespace tasksim
