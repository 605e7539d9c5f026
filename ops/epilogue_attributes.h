// The stages of an epilogue that the attributes of an op declare: `epilogue` (STRINGS) names them,
// `epilogue_a` and `epilogue_b` (FLOATS) have the parameters of each.

#ifndef FIXPOINT_OPS_EPILOGUE_ATTRIBUTES_H_
#define FIXPOINT_OPS_EPILOGUE_ATTRIBUTES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/epilogue.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// No stages for an op whose type has none of these attributes. Errors (kInvalidArgument): an
// attribute is of another type, no stage has a name, the numbers of parameters differ, a zero point
// is no code, or roundings are neither 1 nor 2.
absl::StatusOr<Epilogue> EpilogueOf(const OpDesc& op);
// Whether the operand of a stage that is of numbers can have this type: FP32, or, where it is added
// to channels, INT32, for the codes of a bias in the step of what they are added to. Error
// (kInvalidArgument): it cannot. REQUIRES: the stage has an operand, and no codes.
absl::Status CheckNumbersType(const EpilogueStage& stage, VarType::Type dtype);
// Sets these attributes.
void SetEpilogue(const Epilogue& epilogue, OpDesc* op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_EPILOGUE_ATTRIBUTES_H_
