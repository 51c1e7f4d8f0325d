// Gate: waiting tasks wait at it; once opened, it ends all waiting.
#include <condition_variable>
#include <mutex>
#include <new>

#include "../tasksim_core.h"
#include "lock.h"

namespace tasksim {

namespace {

class Gate {
 public:
  void set(bool open) {
    {
      const std::lock_guard guard(mutex_);
      open_ = open;
    }
    if (open) opened_.notify_all();
  }

  void wait(double duration_s) {
    std::unique_lock guard(mutex_);
    opened_.wait_for(guard, seconds(duration_s), [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace

}  // namespace tasksim

extern "C" {

void *tasksim_gate_new(void) { return new (std::nothrow) tasksim::Gate; }

void tasksim_gate_set(void *gate, int32_t open) {
  static_cast<tasksim::Gate *>(gate)->set(open != 0);
}

void tasksim_gate_free(void *gate) { delete static_cast<tasksim::Gate *>(gate); }

void tasksim_wait(void *gate, const double *duration_s) {
  if (*duration_s > 0.0) static_cast<tasksim::Gate *>(gate)->wait(*duration_s);
}

}  // extern "C"
