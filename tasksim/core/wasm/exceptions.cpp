// Exceptions of the core as WebAssembly: the functions that compilers call to throw and to catch.
//
// The compiler's own library for this target has none. Here, one exception is under way at a time,
// of a few types, and each handler takes all: so there is no need to find the handler by its type.
#include <cstdlib>
#include <exception>
#include <new>
#include <typeinfo>
#include <utility>

#include "thrown.h"

// The tag of all exceptions of C++, with the place of what was thrown.
asm(".globl __cpp_exception\n"
    ".tagtype __cpp_exception i32\n"
    "__cpp_exception:\n");

namespace {

// Header of a thrown object, which follows it in memory.
struct alignas(16) Thrown {
  const std::type_info *type;
  void (*destroy)(void *);
  int holders;  // handlers, and std::exception_ptr

  static Thrown &of(void *object) { return static_cast<Thrown *>(object)[-1]; }
};

void *caught = nullptr;  // the object of the present handler

void hold(void *object) {
  if (object) ++Thrown::of(object).holders;
}

void release(void *object) {
  if (!object || --Thrown::of(object).holders) return;
  Thrown &thrown = Thrown::of(object);
  if (thrown.destroy) thrown.destroy(object);
  std::free(&thrown);
}

}  // namespace

namespace tasksim {

template <class T>
const T *thrown_as() {
  return *Thrown::of(caught).type == typeid(T) ? static_cast<const T *>(caught) : nullptr;
}

int32_t status_of_thrown(tasksim_outcome *outcome) {
  if (const auto *broken = thrown_as<Broken>()) return told(*broken, outcome);
  if (thrown_as<BadArrays>()) return TASKSIM_BAD_ARRAYS;
  return thrown_as<std::bad_alloc>() ? TASKSIM_NO_MEMORY : TASKSIM_BUG;
}

}  // namespace tasksim

extern "C" {

void *__cxa_allocate_exception(std::size_t size) noexcept {
  auto *thrown = static_cast<Thrown *>(std::malloc(sizeof(Thrown) + size));
  if (!thrown) std::abort();
  return new (thrown) Thrown{} + 1;
}

void __cxa_free_exception(void *object) noexcept { std::free(&Thrown::of(object)); }

[[noreturn]] void __cxa_throw(void *object, std::type_info *type, void (*destroy)(void *)) {
  Thrown::of(object) = {type, destroy, 1};
  __builtin_wasm_throw(0, object);
}

void *__cxa_begin_catch(void *object) noexcept { return caught = object; }

void __cxa_end_catch() { release(std::exchange(caught, nullptr)); }

[[noreturn]] void __cxa_rethrow() {
  hold(caught);
  __builtin_wasm_throw(0, caught);
}

// The functions of std::exception_ptr.
void *__cxa_current_primary_exception() noexcept {
  hold(caught);
  return caught;
}
void __cxa_increment_exception_refcount(void *object) noexcept { hold(object); }
void __cxa_decrement_exception_refcount(void *object) noexcept { release(object); }
[[noreturn]] void __cxa_rethrow_primary_exception(void *object) {
  hold(object);
  __builtin_wasm_throw(0, object);
}

// The C++ library calls these. If they were not here, the linker would take its own file, with
// another definition of all the functions above.
bool __cxa_uncaught_exception() noexcept { return false; }
unsigned int __cxa_uncaught_exceptions() noexcept { return 0; }

// Handlers by type, which ask these, are only around functions of Python, which are not there.
struct {
  std::uintptr_t landing_pad, table, selector;
} __wasm_lpad_context;
[[noreturn]] int _Unwind_CallPersonality(void *) { std::abort(); }
[[noreturn]] int __gxx_personality_wasm0(...) { std::abort(); }

int __cxa_thread_atexit(void (*)(void *), void *, void *) noexcept { return 0; }

}  // extern "C"

struct _Unwind_Exception;

namespace __cxxabiv1 {

std::uint64_t __getExceptionClass(const _Unwind_Exception *) { return 0; }
void __setExceptionClass(_Unwind_Exception *, std::uint64_t) {}
bool __isOurExceptionClass(const _Unwind_Exception *) { return false; }

}  // namespace __cxxabiv1

// The library's own operator ends the program where memory is short.
void *operator new(std::size_t size) {
  if (void *found = std::malloc(size ? size : 1)) return found;
  throw std::bad_alloc();
}
void operator delete(void *place) noexcept { std::free(place); }
void operator delete(void *place, std::size_t) noexcept { std::free(place); }
