#include "extend.h"

#include "drop_callstacks.h"
#include "moving_average_sigma.h"
#include "proto/base/status_macros.h"
#include "quarter_relu.h"
#include "sums_fit.h"

namespace out_of_tree {

absl::Status Extend(fixpoint::Extensions& extensions) {
  RETURN_IF_ERROR(fixpoint::AddOwnOps(QuarterRelu()));
  RETURN_IF_ERROR(extensions.AddPass(&MakeDropCallstacks));
  RETURN_IF_ERROR(extensions.AddQuantizer(&MakeMovingAverageSigma));
  return extensions.AddCheck(MakeSumsFit());
}

}  // namespace out_of_tree
