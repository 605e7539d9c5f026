// Text of unknown origin, names above all, which need not be UTF-8.

#ifndef FIXPOINT_PROTO_BASE_UTF8_H_
#define FIXPOINT_PROTO_BASE_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace fixpoint {

// What stands in for bytes that are no UTF-8: U+FFFD.
inline constexpr absl::string_view kReplacementCharacter = "\xef\xbf\xbd";

// The length of the UTF-8 sequence at the start of `bytes`; 0 if there is none (Unicode 15, table
// 3-7). REQUIRES: bytes is not empty.
size_t Utf8SequenceLength(absl::string_view bytes);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_BASE_UTF8_H_
