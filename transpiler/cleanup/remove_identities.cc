// remove_identities: removes the ops of an inference program that change nothing, so that their
// readers read what they copied. Exporters leave many:
//
//   softmax(X=x) -> (Out=y)
//   scale(X=y) -> (Out=save_infer_model/scale_0) {bias=0.0, scale=1.0}
//   fetch(X=save_infer_model/scale_0) -> (Out=fetch) {col=0}
//
//   softmax(X=x) -> (Out=y)
//   fetch(X=y) -> (Out=fetch) {col=0}
//
// An op stays if its other outputs are read; if its output is persistable; if it or its input is
// written a second time; if an attribute names it; if the program has its gradient; and if a reader
// is in a block that has another variable of the input's name. Ops in sub-blocks stay: the op that
// runs a block may refer to its variables by name.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

bool ChangesNothing(const Op& op, Era era) {
  if (TraitsOf(op).copies) return true;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  if (!attributes) return false;
  if (op.type() == "scale") {
    return op.Inputs("ScaleTensor").empty() && attributes->Float("scale") == 1 &&
           attributes->Float("bias") == 0;
  }
  if (op.type() == "cast") return attributes->Int("in_dtype") == attributes->Int("out_dtype");
  if (op.type() == "dropout") {
    return attributes->Bool("is_test") &&
           attributes->String("dropout_implementation") == "upscale_in_train";
  }
  return false;
}

bool HasOneValue(const Variable& variable) {
  return variable.values().size() == 1 && variable.desc() != nullptr;
}

class RemoveIdentities final : public Pass {
 public:
  absl::string_view name() const override { return "remove_identities"; }
  absl::string_view doc() const override {
    return "Removes ops of an inference program that change nothing (assign, scale by 1).";
  }
  std::vector<std::string> ComesBefore() const override { return {"planned"}; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    const Era era = EraOf(program);
    const absl::flat_hash_set<std::string> named = NamesInAllAttributes(program);
    for (const Op& op : program.block(0).ops()) {
      if (ChangesNothing(op, era)) RETURN_IF_ERROR(TakeOut(program, op, named, rewriter));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status TakeOut(const Program& program, const Op& op,
                              const absl::flat_hash_set<std::string>& named, Rewriter& rewriter) {
    const Argument* x = op.Input("X");
    const Argument* out = op.Output("Out");
    if (x == nullptr || out == nullptr || x->variable() == nullptr || out->variable() == nullptr) {
      return absl::OkStatus();
    }
    for (const Argument* other : op.outputs()) {
      const Value* const value = other->value();
      if (other != out && value != nullptr && !IsUnread(*value)) return absl::OkStatus();
    }
    const Variable& source = *x->variable();
    const Variable& copy = *out->variable();
    if (!HasOneValue(source) || !HasOneValue(copy) || copy.persistable() ||
        named.contains(copy.name()) ||
        source.desc()->type().SerializeAsString() != copy.desc()->type().SerializeAsString() ||
        program.Find(copy.block(), absl::StrCat(copy.name(), kGradientSuffix)) != nullptr) {
      return absl::OkStatus();
    }
    const absl::Span<const Argument* const> readers = copy.values().front()->readers();
    if (std::any_of(readers.begin(), readers.end(), [&](const Argument* reader) {
          return !CanName(program, reader->op(), source);
        })) {
      return absl::OkStatus();
    }
    // Gradient ops are among the readers.
    const std::vector<const Argument*> to_redirect(readers.begin(), readers.end());
    RETURN_IF_ERROR(rewriter.RedirectReads(to_redirect, source));
    rewriter.Remove(op);
    rewriter.Remove(copy);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeRemoveIdentities() { return std::make_unique<RemoveIdentities>(); }

}  // namespace fixpoint
