// Lines of codes, copied with their padding.

#ifndef FIXPOINT_RUNTIME_KERNELS_PADDED_LINES_H_
#define FIXPOINT_RUNTIME_KERNELS_PADDED_LINES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace fixpoint::kernels {

// Units: codes.
struct PaddedLine {
  int64_t left;
  int64_t size;
  int64_t right;

  int64_t padded_size() const { return left + size + right; }

  // Copies the first `count` codes of a line, shifted to be unsigned, to a padded line; `zero` is
  // the shifted code of padding.
  void Copy(const uint8_t* from, int64_t count, uint8_t shift, uint8_t zero, uint8_t* to) const {
    std::memset(to, zero, left);
    std::transform(from, from + count, to + left, [shift](uint8_t code) { return code ^ shift; });
    std::memset(to + left + size, zero, right);
  }
  void Fill(uint8_t zero, uint8_t* to) const { std::memset(to, zero, padded_size()); }
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PADDED_LINES_H_
