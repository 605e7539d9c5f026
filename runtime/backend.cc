#include "runtime/backend.h"

#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

constexpr char kNotFinite[] = "fixpoint/not_finite";

}  // namespace

absl::Status NotFiniteError(absl::string_view message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kNotFinite, absl::Cord());
  return status;
}

bool IsNotFinite(const absl::Status& status) { return status.GetPayload(kNotFinite).has_value(); }

absl::Status AtPlace(absl::string_view place, const absl::Status& status) {
  absl::Status placed(status.code(), absl::StrCat(place, ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { placed.SetPayload(url, payload); });
  return placed;
}

}  // namespace fixpoint
