// Refusals of the core as WebAssembly, which has no exceptions: what is thrown leaves the core by a
// function of its host, with the status that the interface would return.
//
// The compiler drops all handlers, so nothing is unwound: what was made for the replay is lost.
// view/page/script/instance.js takes a new instance then.
#include <cstdlib>
#include <new>
#include <typeinfo>

#include "problem.h"
#include "runtime/ledger.h"

[[noreturn]] __attribute__((import_module("tasksim"), import_name("refuse"))) void refuse(
    std::int32_t status, std::int64_t task, std::int64_t worker, std::int64_t number);

// The functions that compilers call for `throw`, and for objects that live as long as a thread.
extern "C" {

void *__cxa_allocate_exception(std::size_t size) noexcept { return std::malloc(size); }

void __cxa_free_exception(void *) noexcept {}

[[noreturn]] void __cxa_throw(void *thrown, std::type_info *type, void *(*)(void *)) {
  if (*type == typeid(tasksim::Broken)) {
    const auto &broken = *static_cast<const tasksim::Broken *>(thrown);
    refuse(broken.status, broken.task, broken.worker, broken.number);
  }
  if (*type == typeid(tasksim::BadArrays)) refuse(TASKSIM_BAD_ARRAYS, -1, -1, 0);
  refuse(*type == typeid(std::bad_alloc) ? TASKSIM_NO_MEMORY : TASKSIM_BUG, -1, -1, 0);
}

int __cxa_thread_atexit(void (*)(void *), void *, void *) noexcept { return 0; }

}  // extern "C"
