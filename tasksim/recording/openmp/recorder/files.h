// Files of a recording: a mapped file per thread, and lines about the whole.
//
// No descriptor stays open, as a program may close all it finds, and reuse their numbers.
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "records.h"

namespace tasksim::ompt {

// The folder of the recording, with room for the names of files.
struct Folder {
  char path[PATH_MAX - 64];

  void file(char (&out)[PATH_MAX], const char* name) const {
    snprintf(out, sizeof out, "%s/%s", path, name);
  }

  // Appends a line to a file in one call, so that lines of several threads do not mix.
  void say(const char* name, const char* format, ...) const __attribute__((format(printf, 3, 4))) {
    char where[PATH_MAX], text[PATH_MAX + 512];
    file(where, name);
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text - 1, format, values);
    va_end(values);
    if (length < 0) return;
    if (length > static_cast<int>(sizeof text) - 2) length = sizeof text - 2;
    for (int k = 0; k < length; ++k)
      if (text[k] == '\n') text[k] = '?';  // a name may contain anything
    text[length++] = '\n';
    const int opened = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (opened < 0) return;
    while (write(opened, text, static_cast<size_t>(length)) < 0 && errno == EINTR) {
    }
    close(opened);
  }

  // Returns whether this process is the first to ask.
  bool claim() const {
    char where[PATH_MAX];
    file(where, "claimed");
    const int opened = open(where, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (opened < 0) return false;
    close(opened);
    return true;
  }
};

// A file that grows by mapped parts. The system keeps what is written even if the process is
// killed at the next instruction.
class MappedFile {
 public:
  void name(const Folder& folder, unsigned number) {
    char name[32];
    snprintf(name, sizeof name, "thread-%u", number);
    folder.file(path_, name);
  }

  // Maps the next part; returns null and sets errno if there is no room for it.
  char* next_part(size_t& size) {
    release();
    rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
        offset_ + part_bytes_ > limit.rlim_cur) {  // the system would send a signal
      errno = EFBIG;
      return nullptr;
    }
    const int opened = open(path_, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0) return nullptr;
    // Reserved: writing to a mapped part of a full disk would end the program.
    const int error =
        posix_fallocate(opened, static_cast<off_t>(offset_), static_cast<off_t>(part_bytes_));
    void* mapped = MAP_FAILED;
    if (error)
      errno = error;
    else
      mapped = mmap(nullptr, part_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, opened,
                    static_cast<off_t>(offset_));
    const int mapping_error = errno;
    close(opened);
    errno = mapping_error;
    if (mapped == MAP_FAILED) return nullptr;
    part_ = mapped;
    size = mapped_bytes_ = part_bytes_;
    offset_ += part_bytes_;
    if (part_bytes_ < LARGEST_PART_BYTES) part_bytes_ *= 2;
    return static_cast<char*>(mapped);
  }

  void release() {
    if (part_) munmap(part_, mapped_bytes_);
    part_ = nullptr;
  }

 private:
  // Short for threads that hardly do anything, then as large as a second of small tasks fills in
  // some dozens of parts.
  static constexpr size_t FIRST_PART_BYTES = size_t{1} << 16;
  static constexpr size_t LARGEST_PART_BYTES = size_t{1} << 22;

  char path_[PATH_MAX];
  void* part_ = nullptr;
  size_t mapped_bytes_ = 0;
  size_t part_bytes_ = FIRST_PART_BYTES;
  size_t offset_ = 0;
};

}  // namespace tasksim::ompt
