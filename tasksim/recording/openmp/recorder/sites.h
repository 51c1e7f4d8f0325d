// Places in the program that create tasks, regions and loops, by the address of the code.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <unwind.h>

#include <atomic>
#include <cstdint>

#include "files.h"
#include "ompt.h"

namespace tasksim::ompt {

class Sites {
 public:
  // *function* is one of the runtime.
  void know_runtime(const void* function) { runtime_ = module_of(function); }

  // Where the program called the runtime that made *frame* when it was entered; else *told*.
  //
  // What libomp tells is where a thread entered it first: of a task that is created by one which
  // runs within a barrier, that is where the barrier is.
  const void* called_from(const Frame* frame, const void* told) const {
#if defined(__x86_64__) || defined(__aarch64__)
    if (!frame || !frame->enter_frame.pointer || frame->enter_flags != RUNTIME_FRAME_POINTER)
      return told;
    // The caller's frame pointer, then the address of return.
    const void* code = static_cast<void**>(frame->enter_frame.pointer)[1];
    if (code == told || is_known(code)) return code;
    const void* module = module_of(code);
    const void* own = module_of(reinterpret_cast<const void*>(&visit));
    return module && module != runtime_ && module != own ? code : told;
#else
    return told;
#endif
  }

  // The innermost place on the stack of this thread that is neither the runtime's nor this
  // library's, nor where threads begin; null if there is none.
  const void* caller() const {
    Search search{this, module_of(reinterpret_cast<const void*>(&visit)),
                  module_of(reinterpret_cast<const void*>(&pthread_create)), nullptr};
    _Unwind_Backtrace(visit, &search);
    return search.found;
  }

  // *code*, unless it is unknown or the runtime's: then the innermost place outside of it.
  const void* outside(const void* code) const {
    if (code && (is_known(code) || module_of(code) != runtime_)) return code;
    return caller();
  }

  // The number of a place, the same for all threads; it is written down when it is seen first.
  std::uint64_t number(const Folder& folder, const void* code) {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    if (!address) return NO_SITE;
    std::size_t slot = first_slot(address);
    for (std::size_t tries = 0; tries < SLOTS; ++tries, slot = (slot + 1) % SLOTS) {
      std::uintptr_t found = slots_[slot].load(std::memory_order_relaxed);
      if (found == address) return slot;
      if (found) continue;
      if (slots_[slot].compare_exchange_strong(found, address, std::memory_order_relaxed)) {
        write_down(folder, slot, code);
        return slot;
      }
      if (found == address) return slot;
    }
    return NO_SITE;
  }

 private:
  struct Search {
    const Sites* sites;
    const void* own;
    const void* threads;
    const void* found;
  };

  static const void* module_of(const void* code) {
    Dl_info info{};
    return dladdr(code, &info) ? info.dli_fbase : nullptr;
  }

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* given) {
    auto& search = *static_cast<Search*>(given);
    const auto* code = reinterpret_cast<const void*>(_Unwind_GetIP(context));
    const void* module = module_of(code);
    if (module == search.own || module == search.sites->runtime_ || module == search.threads)
      return _URC_NO_REASON;
    search.found = code;
    return _URC_END_OF_STACK;
  }

  bool is_known(const void* code) const {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    std::size_t slot = first_slot(address);
    for (std::size_t tries = 0; tries < SLOTS; ++tries, slot = (slot + 1) % SLOTS) {
      const std::uintptr_t found = slots_[slot].load(std::memory_order_relaxed);
      if (found == address) return true;
      if (!found) return false;
    }
    return false;
  }

  static std::size_t first_slot(std::uintptr_t address) {
    return (address * 0x9E3779B97F4A7C15u) >> (64 - BITS);
  }

  static constexpr int BITS = 13;
  static constexpr std::size_t SLOTS = std::size_t{1} << BITS;

  void write_down(const Folder& folder, std::size_t slot, const void* code) const {
    Dl_info info{};
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    if (!dladdr(code, &info)) {
      folder.say("sites", "%zu\t%zx\t\t\t\t", slot, address);
      return;
    }
    if (runtime_ && info.dli_fbase == runtime_) {
      folder.say("sites", "%zu\t%zx\t\t\t\truntime", slot, address);
      return;
    }
    const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    const auto symbol = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
    folder.say("sites", "%zu\t%zx\t%zx\t%s\t%zx\t%s", slot, address, address - base,
               info.dli_sname ? info.dli_sname : "", symbol ? address - symbol : 0,
               info.dli_fname ? info.dli_fname : "");
  }

  const void* runtime_ = nullptr;
  std::atomic<std::uintptr_t> slots_[SLOTS] = {};
};

}  // namespace tasksim::ompt
