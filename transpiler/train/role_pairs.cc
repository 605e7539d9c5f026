#include "transpiler/train/role_pairs.h"

#include "ops/op_form.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/role_variables.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {

std::vector<std::string> TakeRolePair(const Op& from, const std::string& gradient,
                                      Rewriter* rewriter) {
  std::vector<std::string> pairs = RoleVariables(from.desc());
  for (size_t i = 1; i < pairs.size(); i += 2) {
    if (pairs[i] != gradient) continue;
    std::vector<std::string> pair = {pairs[i - 1], gradient};
    AddMark(from, AttributeMark(from, kRoleVarAttr), rewriter);
    pairs.erase(pairs.begin() + i - 1, pairs.begin() + i + 1);
    rewriter->SetAttr(from, MakeStringsAttr(kRoleVarAttr, pairs));
    return pair;
  }
  return {};
}

}  // namespace fixpoint
