#include "ops/attention_shape.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

// Whether two extents are one, and not one that is repeated for the other.
bool AreOne(int64_t a, int64_t b) { return a == b || (MayBeEqual(a, b) && a != 1 && b != 1); }

}  // namespace

absl::StatusOr<AttentionShape> AttentionShapeOf(DimsView q, DimsView k, DimsView v) {
  const size_t rank = q.size();
  bool fits = rank >= 2 && k.size() == rank && v.size() == rank;
  for (size_t i = 0; fits && i + 2 < rank; ++i) fits = AreOne(q[i], k[i]) && AreOne(q[i], v[i]);
  fits = fits && MayBeEqual(q[rank - 1], k[rank - 1]) && MayBeEqual(k[rank - 2], v[rank - 2]);
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("Q is ", DimsText(q), ", K ", DimsText(k), " and V ", DimsText(v),
                     "; want [..., M, D], [..., N, D] and [..., N, C] with equal leading extents"));
  }
  AttentionShape shape;
  shape.scores.assign(q.begin(), q.end());
  shape.out = shape.scores;
  shape.scores.back() = k[rank - 2];
  shape.out.back() = v[rank - 1];
  return shape;
}

absl::Status CheckAttentionMask(DimsView scores, DimsView mask) {
  bool fits = !mask.empty() && mask.size() <= scores.size();
  for (size_t i = 0; fits && i < mask.size(); ++i) {
    fits = mask[i] == 1 || MayBeEqual(mask[i], scores[scores.size() - mask.size() + i]);
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Mask is ", DimsText(mask), "; want it to broadcast to the scores, ", DimsText(scores)));
}

}  // namespace fixpoint
