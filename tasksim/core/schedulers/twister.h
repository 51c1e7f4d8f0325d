// Twister: Python's random numbers (M. Matsumoto, T. Nishimura, "Mersenne Twister", ACM TOMACS
// 8(1), 1998), from the state of a random.Random.
#pragma once

#include <array>
#include <cstdint>

namespace tasksim {

class Twister {
 public:
  static constexpr int WORDS = 624;

  // As random.Random(seed).
  explicit Twister(std::uint64_t seed) {
    words_[0] = 19650218u;
    for (int k = 1; k < WORDS; ++k) words_[k] = 1812433253u * mixed(k) + k;
    const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed),
                                           static_cast<std::uint32_t>(seed >> 32)};
    const int length = key[1] ? 2 : 1;
    int place = 1;
    for (int k = 0; k < WORDS; ++k, place = next(place))
      words_[place] = (words_[place] ^ mixed(place) * 1664525u) + key[k % length] + k % length;
    for (int k = 1; k < WORDS; ++k, place = next(place))
      words_[place] = (words_[place] ^ mixed(place) * 1566083941u) - place;
    words_[0] = 0x80000000u;
  }
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
  std::uint32_t mixed(int place) const { return words_[place - 1] ^ words_[place - 1] >> 30; }

  // The place after *place*, while the state is made from a seed.
  int next(int place) {
    if (++place < WORDS) return place;
    words_[0] = words_[WORDS - 1];
    return 1;
  }

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
