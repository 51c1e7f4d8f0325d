// Twister: Python's random numbers (M. Matsumoto, T. Nishimura, "Mersenne Twister", ACM TOMACS
// 8(1), 1998), from the state of a random.Random.
#pragma once

#include <array>
#include <cstdint>

namespace tasksim {

class Twister {
 public:
  static constexpr int WORDS = 624;

  Twister() { words_.fill(1); }
  explicit Twister(const std::uint32_t *state) {
    for (int k = 0; k < WORDS; ++k) words_[k] = state[k];
    position_ = state[WORDS] < WORDS ? static_cast<int>(state[WORDS]) : WORDS;
  }

  std::uint32_t word() {
    if (position_ >= WORDS) turn();
    std::uint32_t y = words_[position_++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
  }

  // random.random(): 53 bits in [0, 1).
  double random() {
    const std::uint32_t high = word() >> 5, low = word() >> 6;
    return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
  }

 private:
  void turn() {
    constexpr int MIDDLE = 397;
    for (int k = 0; k < WORDS; ++k) {
      const std::uint32_t y =
          (words_[k] & 0x80000000u) | (words_[(k + 1) % WORDS] & 0x7fffffffu);
      words_[k] = words_[(k + MIDDLE) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0u);
    }
    position_ = 0;
  }

  std::array<std::uint32_t, WORDS> words_;
  int position_ = WORDS;
};

}  // namespace tasksim
