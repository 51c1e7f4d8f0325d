// Memory of the core as WebAssembly: blocks of any size, which join their neighbours when freed.
//
// The compiler's own allocator for this target rounds sizes up to powers of two and never joins
// blocks, which took half as much again for the arrays of a million tasks. WebAssembly's memory
// never shrinks, so what is freed must serve whatever is asked for next.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" unsigned char __heap_base;  // the end of static data, defined by the linker

namespace {

// A block begins with its size and that of the block before it in memory. Free blocks of similar
// sizes are in one list.
struct Block {
  std::uint32_t before;          // bytes of the block before it; 0: it is the first
  std::uint32_t bytes_and_used;  // bytes of the block, a multiple of UNIT; the lowest bit: in use
  Block *next, *previous;        // in its list, if it is free; data, if it is in use

  std::uint32_t bytes() const { return bytes_and_used & ~1U; }
  bool used() const { return bytes_and_used & 1U; }
  unsigned char *data() { return reinterpret_cast<unsigned char *>(&next); }
  Block *at(std::uint32_t offset) {
    return reinterpret_cast<Block *>(reinterpret_cast<unsigned char *>(this) + offset);
  }
  Block *after() { return at(bytes()); }
  Block *one_before() {
    return reinterpret_cast<Block *>(reinterpret_cast<unsigned char *>(this) - before);
  }
  static Block *of(void *data) {
    return reinterpret_cast<Block *>(static_cast<unsigned char *>(data) - HEAD);
  }

  static constexpr std::uint32_t HEAD = 8;
};
static_assert(offsetof(Block, next) == Block::HEAD && sizeof(Block) == 16);

constexpr std::uint32_t UNIT = 16;  // the alignment of all data
constexpr std::uint32_t PAGE = 65536;
constexpr std::uint32_t GROWTH_BYTES = 16 * PAGE;  // least growth of the memory: growing takes time
constexpr std::uint32_t MAX_BYTES = 0xF0000000;    // of one block: sums do not overflow

// Lists: up to EXACT_BYTES one for each size, then a power of two has STEPS of them.
constexpr int STEPS = 16;
constexpr std::uint32_t EXACT_BYTES = UNIT * STEPS;
constexpr int POWERS = 25;
// Blocks of the list of just the wanted size that a search looks at: those of the next list all fit.
constexpr int MAX_LOOKS = 32;

Block *lists[POWERS][STEPS];
std::uint32_t filled[POWERS];  // per power, the lists that are not empty
std::uint32_t filled_powers;
Block *last;  // in use and empty: the end of the memory

struct Place {
  int power, step;
};

Place place_of(std::uint32_t bytes) {
  if (bytes < EXACT_BYTES) return {0, static_cast<int>(bytes / UNIT)};
  const int digits = std::bit_width(bytes);  // 9 or more
  return {digits - 8, static_cast<int>(bytes >> (digits - 5) & (STEPS - 1))};
}

void put(Block *block) {
  const auto [power, step] = place_of(block->bytes());
  Block *&first = lists[power][step];
  block->previous = nullptr;
  block->next = first;
  if (first) first->previous = block;
  first = block;
  filled[power] |= 1U << step;
  filled_powers |= 1U << power;
}

void take_out(Block *block) {
  const auto [power, step] = place_of(block->bytes());
  if (block->next) block->next->previous = block->previous;
  if (block->previous) {
    block->previous->next = block->next;
    return;
  }
  lists[power][step] = block->next;
  if (block->next) return;
  filled[power] &= ~(1U << step);
  if (!filled[power]) filled_powers &= ~(1U << power);
}

// Gives a block its size, in itself and in the block after it.
void set(Block *block, std::uint32_t bytes, bool used) {
  block->bytes_and_used = bytes | (used ? 1U : 0U);
  block->after()->before = bytes;
}

// Frees a block that is in no list.
void release_block(Block *block) {
  std::uint32_t bytes = block->bytes();
  if (Block *after = block->after(); !after->used()) {
    take_out(after);
    bytes += after->bytes();
  }
  if (block->before) {
    if (Block *before = block->one_before(); !before->used()) {
      take_out(before);
      bytes += before->bytes();
      block = before;
    }
  }
  set(block, bytes, false);
  put(block);
}

// Leaves a used block so many bytes, and frees the rest.
void cut(Block *block, std::uint32_t bytes) {
  const std::uint32_t rest = block->bytes() - bytes;
  if (rest < sizeof(Block)) return;
  set(block, bytes, true);
  Block *left = block->after();
  set(left, rest, true);
  release_block(left);
}

// A free block of so many bytes or more; null: none.
Block *found(std::uint32_t bytes) {
  auto [power, step] = place_of(bytes);
  int looks = 0;
  for (Block *each = lists[power][step]; each && looks < MAX_LOOKS; each = each->next, ++looks)
    if (each->bytes() >= bytes) return each;
  std::uint32_t steps = step + 1 < STEPS ? filled[power] & (~0U << (step + 1)) : 0;
  if (!steps) {
    const std::uint32_t powers = filled_powers & (~0U << (power + 1));
    if (!powers) return nullptr;
    power = std::countr_zero(powers);
    steps = filled[power];
  }
  return lists[power][std::countr_zero(steps)];
}

// Makes the memory larger, so that its last free block has so many bytes; whether that was possible.
bool grow(std::uint32_t bytes) {
  if (!last) {
    const auto base = reinterpret_cast<std::uintptr_t>(&__heap_base);
    // Data, behind the head of a block, are aligned.
    const std::uintptr_t first = (base + UNIT - 1) / UNIT * UNIT + UNIT - Block::HEAD;
    const std::uintptr_t end = __builtin_wasm_memory_size(0) * PAGE - Block::HEAD;
    Block *block = reinterpret_cast<Block *>(first);
    last = reinterpret_cast<Block *>(end);
    last->bytes_and_used = 1U;
    block->before = 0;
    set(block, static_cast<std::uint32_t>(end - first), true);
    release_block(block);
  }
  std::uint32_t missing = bytes;
  if (Block *before = last->one_before(); !before->used())
    missing -= std::min(missing, before->bytes());
  for (std::uint32_t more : {std::max(missing, GROWTH_BYTES), missing}) {
    const std::uint32_t pages = (more + PAGE - 1) / PAGE;
    if (__builtin_wasm_memory_grow(0, pages) == static_cast<std::size_t>(-1)) continue;
    Block *made = last;
    last = made->at(pages * PAGE);
    last->bytes_and_used = 1U;
    set(made, pages * PAGE, true);
    release_block(made);
    return true;
  }
  return false;
}

std::uint32_t rounded(std::size_t bytes) {
  return (static_cast<std::uint32_t>(bytes) + Block::HEAD + UNIT - 1) / UNIT * UNIT;
}

// A used block with room for so many bytes of data; null: memory is short. Functions below call it in
// place of malloc, of whose result compilers assume that no head is before it.
Block *taken_block(std::size_t size) {
  if (size > MAX_BYTES) return nullptr;
  const std::uint32_t bytes = rounded(size);
  Block *block = last ? found(bytes) : nullptr;
  while (!block) {
    if (!grow(bytes)) return nullptr;
    block = found(bytes);
  }
  take_out(block);
  block->bytes_and_used |= 1U;
  cut(block, bytes);
  return block;
}

}  // namespace

extern "C" {

void *malloc(std::size_t size) {
  Block *block = taken_block(size);
  return block ? block->data() : nullptr;
}

void free(void *data) {
  if (data) release_block(Block::of(data));
}

void *calloc(std::size_t count, std::size_t size) {
  if (size && count > MAX_BYTES / size) return nullptr;
  Block *block = taken_block(count * size);
  return block ? std::memset(block->data(), 0, count * size) : nullptr;
}

void *realloc(void *data, std::size_t size) {
  const std::size_t held = data ? Block::of(data)->bytes() - Block::HEAD : 0;
  if (data && size <= held) return data;
  Block *made = taken_block(size);
  if (!made) return nullptr;
  if (data) {
    std::memcpy(made->data(), data, held);
    release_block(Block::of(data));
  }
  return made->data();
}

void *aligned_alloc(std::size_t alignment, std::size_t size) {
  const std::size_t spare = alignment > UNIT ? alignment : 0;
  if (spare > MAX_BYTES || size > MAX_BYTES - spare) return nullptr;
  Block *block = taken_block(size + spare);
  if (!block) return nullptr;
  const auto at = reinterpret_cast<std::uintptr_t>(block->data());
  const auto skipped = static_cast<std::uint32_t>((alignment - at % alignment) % alignment);
  if (skipped) {
    // What is skipped is a block by itself, as data are in steps of a unit.
    Block *kept = block->at(skipped);
    const std::uint32_t bytes = block->bytes();
    set(block, skipped, true);
    set(kept, bytes - skipped, true);
    release_block(block);
    block = kept;
  }
  cut(block, rounded(size));
  return block->data();
}

int posix_memalign(void **made, std::size_t alignment, std::size_t size) {
  constexpr int NO_MEMORY = 48;  // ENOMEM of WASI
  *made = aligned_alloc(alignment, size);
  return *made ? 0 : NO_MEMORY;
}

}  // extern "C"
