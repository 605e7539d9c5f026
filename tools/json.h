// What the JSON documents of the tools have in common.

#ifndef FIXPOINT_TOOLS_JSON_H_
#define FIXPOINT_TOOLS_JSON_H_

#include "proto/base/json_writer.h"

namespace fixpoint {

// The version of the tools' documents; a new one means that programs which read them have to
// change.
inline constexpr int kSchemaVersion = 1;

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_JSON_H_
