#include "transpiler/pipeline/input_error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace fixpoint {
namespace {

// Marks the errors of InputError.
constexpr char kInputPayload[] = "fixpoint/input";

}  // namespace

absl::Status InputError(absl::string_view name, const absl::Status& error) {
  if (error.ok()) return error;
  absl::Status named(
      error.code(),
      absl::StrCat(name, ": ",
                   absl::StrReplaceAll(error.message(), {{"\n", absl::StrCat("\n", name, ": ")}})));
  named.SetPayload(kInputPayload, absl::Cord());
  return named;
}

bool IsInputError(const absl::Status& error) { return error.GetPayload(kInputPayload).has_value(); }

}  // namespace fixpoint
