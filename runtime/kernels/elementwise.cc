#include "runtime/kernels/elementwise.h"

#include <glog/logging.h>

#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/kernels/planned_elementwise.h"

namespace fixpoint::kernels {

absl::StatusOr<std::unique_ptr<Elementwise>> Elementwise::Plan(Arithmetic op,
                                                               const ElementwiseShape& shape) {
  ASSIGN_OR_RETURN(Broadcast broadcast, BroadcastOf(shape.x, shape.y, shape.axis));
  switch (op) {
    case Arithmetic::kAdd:
      return MakeAdd(std::move(broadcast));
    case Arithmetic::kSub:
      return MakeSub(std::move(broadcast));
    case Arithmetic::kMul:
      return MakeMul(std::move(broadcast));
    case Arithmetic::kDiv:
      return MakeDiv(std::move(broadcast));
    case Arithmetic::kMax:
      return MakeMax(std::move(broadcast));
    case Arithmetic::kMin:
      return MakeMin(std::move(broadcast));
    case Arithmetic::kPow:
      return MakePow(std::move(broadcast));
  }
  LOG(FATAL) << "an unknown elementwise op";
}

}  // namespace fixpoint::kernels
