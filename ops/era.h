// The reference's releases, as far as they differ in what an op means.

#ifndef FIXPOINT_OPS_ERA_H_
#define FIXPOINT_OPS_ERA_H_

#include <cstdint>
#include <string>

#include "proto/program/program_fwd.h"

namespace fixpoint {

// Fluid (0.12 to 1.8) and Paddle 2 (2.0 and later). Facts about 1.x were taken from 1.8.5, those
// about 2.x from 2.6.2.
enum class Era { kFluid, kPaddle2 };

// The era of a program's version (Program::version). A version of 0 is a file from before 1.6 or
// from a development build; the reference accepts it everywhere. Here it is Fluid's unless
// `has_op_versions` (the program carries an op_version_map, which only 2.x writes).
constexpr Era EraOf(int64_t version, bool has_op_versions = false) {
  return version >= 2000000 || has_op_versions ? Era::kPaddle2 : Era::kFluid;
}

// The era of a program's writer.
Era EraOf(const Program& program);

// The eras in which a slot, an attribute, a gradient or an op exists.
enum class Eras { kAll, kFluid, kPaddle2 };
bool Includes(Eras eras, Era era);

// "2.6.2" for 2006002; "" for 0, the version before 1.6 and of development builds.
std::string ReleaseName(int64_t version);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ERA_H_
