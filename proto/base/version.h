// The release of Fixpoint; CHANGELOG.md lists what each release brought.

#ifndef FIXPOINT_PROTO_BASE_VERSION_H_
#define FIXPOINT_PROTO_BASE_VERSION_H_

// A literal, for what is put together while compiling (transpiler/extensions/plugin_stamp.h).
#define FIXPOINT_VERSION "0.1.0"

#endif  // FIXPOINT_PROTO_BASE_VERSION_H_
