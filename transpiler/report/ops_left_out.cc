#include "transpiler/report/ops_left_out.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "ops/op_types.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "transpiler/plan/parameters.h"

namespace fixpoint {

std::vector<OpsLeftOut> FindOpsLeftOut(const Program& program) {
  OpTypes types(program);
  Parameters parameters;
  std::map<std::string, OpsLeftOut> by_type;
  for (const Op& op : program.ops()) {
    const OpSchema* schema = types.SchemaOf(op);
    const bool is_decided = schema != nullptr && (!schema->quantizable_inputs().empty() ||
                                                  schema->quant_op() != QuantOp::kNone);
    // An op that runs blocks is represented by their ops.
    if (is_decided || !types.IsForward(op) || !op.sub_blocks().empty() || IsFeedOrFetch(op)) {
      continue;
    }
    OpsLeftOut& of_type = by_type[std::string(op.type())];
    ++of_type.count;
    const auto& inputs = op.inputs();
    of_type.has_weights =
        of_type.has_weights ||
        std::any_of(inputs.begin(), inputs.end(), [&](const Argument* input) {
          return input->value() != nullptr && parameters.IsWeight(*input->value());
        });
  }
  std::vector<OpsLeftOut> left_out;
  for (auto& [type, ops] : by_type) {
    ops.op_type = type;
    left_out.push_back(std::move(ops));
  }
  return left_out;
}

std::string OpsLeftOutText(absl::Span<const OpsLeftOut> types) {
  if (types.empty()) return "";
  int count = 0;
  for (const OpsLeftOut& type : types) count += type.count;
  return absl::StrCat(count, count == 1 ? " op" : " ops", " of ", types.size(),
                      types.size() == 1 ? " type" : " types", count == 1 ? " has" : " have",
                      " no input that can be quantized: ",
                      absl::StrJoin(types, ", ",
                                    [](std::string* out, const OpsLeftOut& type) {
                                      absl::StrAppend(
                                          out, type.op_type,
                                          type.has_weights ? " (its weights stay float)" : "");
                                    }),
                      "\n");
}

}  // namespace fixpoint
