// separate_writes: gives each value of a variable that ops overwrite a variable of its own, so that
// what reads one of them is known by name. Programs of 2018 are full of activations in place:
//
//   conv2d(Filter=w, Input=x) -> (Output=y)
//   relu(X=y) -> (Out=y)
//   fetch(X=y) -> (Out=fetch) {col=0}
//
//   conv2d(Filter=w, Input=x) -> (Output=y_1)
//   relu(X=y_1) -> (Out=y)
//   fetch(X=y) -> (Out=fetch) {col=0}
//
// The last value keeps the name. A variable stays as it is if it is persistable, fed, no dense
// tensor, named by an attribute, or used in a block that an op runs.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

// Whether every value is one that an op of block 0 writes, in an output of its own, and that ops of
// block 0 read.
bool AreWrittenInTurn(const Variable& variable) {
  const auto values = variable.values();
  const auto arguments = variable.arguments();
  return std::all_of(values.begin(), values.end(),
                     [](const Value* value) {
                       return value->written_by() != nullptr && !IsFeed(*value->op());
                     }) &&
         std::all_of(arguments.begin(), arguments.end(),
                     [](const Argument* argument) { return argument->op().block().index() == 0; });
}

class SeparateWrites final : public Pass {
 public:
  absl::string_view name() const override { return "separate_writes"; }
  absl::string_view doc() const override {
    return "Gives each value of a variable that ops overwrite a variable of its own.";
  }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    const absl::flat_hash_set<std::string> named = NamesInAllAttributes(program);
    for (const Variable* variable : program.block(0).variables()) {
      if (variable->values().size() < 2 || variable->persistable() ||
          !variable->is_dense_tensor() || named.contains(variable->name()) ||
          !AreWrittenInTurn(*variable)) {
        continue;
      }
      RETURN_IF_ERROR(Separate(program, *variable, rewriter));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Separate(const Program& program, const Variable& variable,
                               Rewriter& rewriter) {
    struct Use {
      const Argument* write;
      std::vector<const Argument*> reads;
    };
    std::vector<Use> uses;
    for (const Value* value : variable.values()) {
      uses.push_back({value->written_by(), {value->readers().begin(), value->readers().end()}});
    }
    uses.pop_back();
    for (const Use& use : uses) {
      ASSIGN_OR_RETURN(const Variable* own,
                       rewriter.AddVariable(program.block(0), rewriter.FreshName(variable.name()),
                                            variable.desc()->type()));
      rewriter.SetArgument(*use.write, own->name());
      RETURN_IF_ERROR(rewriter.RedirectReads(use.reads, *own));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeSeparateWrites() { return std::make_unique<SeparateWrites>(); }

}  // namespace fixpoint
