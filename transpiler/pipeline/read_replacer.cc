#include "transpiler/pipeline/read_replacer.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/forward_ops.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

absl::flat_hash_set<std::string> TypesOf(const Program& program) {
  absl::flat_hash_set<std::string> types;
  for (const Op& op : program.ops()) types.insert(op.type());
  return types;
}

}  // namespace

ReadReplacer::ReadReplacer(const Program& program, Rewriter* rewriter)
    : links_(program, TypesOf(program)), rewriter_(*rewriter) {}

absl::Status ReadReplacer::Replace(absl::Span<const Argument* const> reads, const Value& value) {
  std::vector<const Argument*> all;
  for (const Argument* read : reads) {
    const Op& op = read->op();
    const auto refused = [&](const auto&... parts) {
      return absl::FailedPreconditionError(absl::StrCat(Describe(op), ": is to read \"",
                                                        value.variable().name(), "\" in slot ",
                                                        read->slot_name(), ", and ", parts...));
    };
    if (!IsForward(op)) return refused("is no forward op");
    if (!op.sub_blocks().empty() && links_.has_gradients()) {
      return refused("runs a block, whose gradient ops would not follow");
    }
    if (&op.block() != &value.variable().block()) {
      return refused("is in another block than that variable");
    }
    if (const Op* const gradient = links_.UncertainGradientOf(op)) {
      return refused(Describe(*gradient),
                     " may be its gradient op, or another op's, and would not follow");
    }
    all.push_back(read);
    for (const Argument* repeat : links_.RepeatsOf(*read)) all.push_back(repeat);
  }
  return rewriter_.RedirectReads(all, value);
}

}  // namespace fixpoint
