// Any bytes as an archive of arrays: what is accepted is written to the same bytes from then on.

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/npz.h"
#include "runtime/scope.h"
#include "tests/fuzz/input_error.h"

namespace fixpoint {
namespace {

// Sets `*archive`, or tells why the tensors cannot be written.
absl::Status Write(const Scope& scope, std::string* archive) {
  return WriteNpz(scope, [&](absl::string_view bytes) {
    archive->append(bytes.data(), bytes.size());
    return absl::OkStatus();
  });
}

void CheckNpz(absl::string_view input) {
  const absl::StatusOr<Scope> scope = ParseNpz(input, "fuzz");
  if (!scope.ok()) return CheckIsInputError(scope.status());
  std::string first;
  const absl::Status written = Write(*scope, &first);
  // A name that other writers give a member.
  if (!written.ok()) return CheckIsInputError(written);
  const absl::StatusOr<Scope> reread = ParseNpz(first, "fuzz");
  CHECK(reread.ok()) << reread.status();
  CHECK_EQ(reread->size(), scope->size());
  std::string second;
  CHECK(Write(*reread, &second).ok());
  CHECK(first == second);
}

}  // namespace
}  // namespace fixpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fixpoint::CheckNpz({reinterpret_cast<const char*>(data), size});
  return 0;
}
