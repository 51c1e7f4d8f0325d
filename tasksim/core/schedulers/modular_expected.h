// Expected end of a worker, as the modular schedulers keep it (schedulers/modular_expected.py).
#pragma once

#include <algorithm>

namespace tasksim {

// Expected work of one worker, in seconds: given to it, and waiting in the queue above it.
class Expected {
 public:
  // When all that is expected of the worker is done.
  double end(double now) {
    if (now > start_) start_ = now;
    return start_ + length_ + queued;
  }

  // The worker asks for a task: take it to be free.
  void asked(double now) {
    start_ = now;
    length_ = pipeline_ = 0.0;
  }

  // Adds a task to the queue; the part of *transfer* that nothing hides.
  double queue(double now, double duration, double transfer) {
    transfer = std::max(0.0, now + transfer - end(now));
    queued += duration + transfer;
    return transfer;
  }

  // Removes a task from the queue, in which *left* others stay.
  void unqueue(double duration, double transfer, std::size_t left) {
    const double rest = std::max(0.0, queued - duration);
    queued = left ? std::max(0.0, rest - transfer) : 0.0;
  }

  // Hands out a task and starts its transfer; what nothing hides of that.
  double take(double now, double duration, double transfer) {
    const double end = start_ + length_;
    if (now > start_) start_ = now;
    transfer = std::max(0.0, now + transfer - end);
    length_ += duration;
    pipeline_ += transfer;
    start_ = now + pipeline_;
    return transfer;
  }

  // The data are there and the task starts.
  void begin(double now, double duration, double transfer) {
    length_ -= duration;
    pipeline_ += duration - transfer;
    start_ = now + pipeline_;
  }

  // The task is done.
  void finish(double now, double duration) {
    pipeline_ -= duration;
    start_ = std::max(start_, now + pipeline_);
  }

  double queued = 0.0;  // what waits above the worker

 private:
  double start_ = 0.0;     // when the tasks handed out are done
  double pipeline_ = 0.0;  // how long they take
  double length_ = 0.0;    // how long the task takes that was taken and has not started
};

}  // namespace tasksim
