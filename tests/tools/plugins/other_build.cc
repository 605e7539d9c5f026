// A plugin of another build, whose code must not run.

#include <cstdint>
#include <cstdlib>

namespace {

struct {
  uint32_t name_size = 9;
  uint32_t stamp_size = 6;
  uint32_t type = 1;
  char name[12] = "Fixpoint";
  char stamp[8] = "0.0.9";
} const note __attribute__((section(".note.fixpoint"), aligned(4), used));

[[maybe_unused]] const bool runs = (std::abort(), true);

}  // namespace
