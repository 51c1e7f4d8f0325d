// What the recorder is made of: Python compares it with the sources that are there.
extern "C" __attribute__((visibility("default"))) const char* tasksim_ompt_sources() {
  return TASKSIM_CORE_SOURCES;
}
