// Any bytes as a NumPy array: what is accepted reads the same after it is written.

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/byte_reader.h"
#include "runtime/npy.h"
#include "runtime/tensor.h"
#include "tests/fuzz/input_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fixpoint::ByteReader reader =
      fixpoint::ByteReader::Over({reinterpret_cast<const char*>(data), size});
  const absl::StatusOr<fixpoint::Tensor> tensor = fixpoint::ReadWholeNpy(reader);
  if (!tensor.ok()) {
    fixpoint::CheckIsInputError(tensor.status());
    return 0;
  }
  const absl::StatusOr<std::string> written = fixpoint::NpyBytes(*tensor);
  CHECK(written.ok()) << written.status();
  fixpoint::ByteReader again = fixpoint::ByteReader::Over(*written);
  const absl::StatusOr<fixpoint::Tensor> reread = fixpoint::ReadWholeNpy(again);
  CHECK(reread.ok()) << reread.status();
  CHECK(reread->dtype() == tensor->dtype() && reread->dims() == tensor->dims() &&
        reread->bytes() == tensor->bytes());
  return 0;
}
