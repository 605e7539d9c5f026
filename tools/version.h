// The release of Fixpoint; CHANGELOG.md lists what each release brought.

#ifndef FIXPOINT_TOOLS_VERSION_H_
#define FIXPOINT_TOOLS_VERSION_H_

namespace fixpoint {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_VERSION_H_
