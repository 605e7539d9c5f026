// Boxes relative to prior boxes: offsets of the centre and logarithms of the size.

#ifndef FIXPOINT_RUNTIME_BOXES_BOX_CODING_H_
#define FIXPOINT_RUNTIME_BOXES_BOX_CODING_H_

#include <cmath>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/boxes/box.h"

namespace fixpoint::boxes {

// Of N targets and M prior boxes.
struct BoxCoding {
  Corners corners = Corners::kPlaces;
  bool encodes = true;
  // Decoding: the target's axis that counts prior boxes, 1, or 0 of [N, M, 4].
  int prior_axis = 1;
  int64_t targets = 0;  // N
  int64_t priors = 0;   // M; with prior_axis 0 the second extent of the targets
};

// Where the factors of each offset are: one for all boxes or for each, none for 1.
template <typename T>
struct Variances {
  absl::Span<const T> values;

  T At(int64_t prior, int i) const {
    if (values.empty()) return T(1);
    return values[values.size() == 4 ? i : prior * 4 + i];
  }
};

namespace internal {

template <typename T>
void Encode(const T* target, const T* prior, T extra, T* code) {
  const T prior_width = prior[2] - prior[0] + extra;
  const T prior_height = prior[3] - prior[1] + extra;
  const T width = target[2] - target[0] + extra;
  const T height = target[3] - target[1] + extra;
  code[0] = ((target[0] + target[2]) / 2 - (prior[0] + prior_width / 2)) / prior_width;
  code[1] = ((target[1] + target[3]) / 2 - (prior[1] + prior_height / 2)) / prior_height;
  code[2] = std::log(std::abs(width / prior_width));
  code[3] = std::log(std::abs(height / prior_height));
}

}  // namespace internal

// `code` holds what the offsets are after they were multiplied by the variances.
template <typename T>
void DecodeBox(const T* code, const T* prior, T extra, T* box) {
  const T prior_width = prior[2] - prior[0] + extra;
  const T prior_height = prior[3] - prior[1] + extra;
  const T x = code[0] * prior_width + (prior[0] + prior_width / 2);
  const T y = code[1] * prior_height + (prior[1] + prior_height / 2);
  const T width = std::exp(code[2]) * prior_width;
  const T height = std::exp(code[3]) * prior_height;
  box[0] = x - width / 2;
  box[1] = y - height / 2;
  box[2] = x + width / 2 - extra;
  box[3] = y + height / 2 - extra;
}

// out [targets, priors, 4].
template <typename T>
void CodeBoxes(const BoxCoding& coding, absl::Span<const T> priors, const Variances<T>& variances,
               absl::Span<const T> targets, absl::Span<T> out) {
  const T extra = ExtraOf<T>(coding.corners);
  T* next = out.data();
  for (int64_t i = 0; i < coding.targets; ++i) {
    for (int64_t j = 0; j < coding.priors; ++j, next += 4) {
      const int64_t prior = coding.encodes || coding.prior_axis == 1 ? j : i;
      const T* const box = priors.data() + prior * 4;
      if (coding.encodes) {
        internal::Encode(targets.data() + i * 4, box, extra, next);
        for (int k = 0; k < 4; ++k) next[k] /= variances.At(prior, k);
      } else {
        T code[4];
        const T* const target = targets.data() + (i * coding.priors + j) * 4;
        for (int k = 0; k < 4; ++k) code[k] = target[k] * variances.At(prior, k);
        DecodeBox(code, box, extra, next);
      }
    }
  }
}

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_BOX_CODING_H_
