// fold_constants: computes what parameters and attributes alone decide, once, by the reference
// interpreter. The result becomes a parameter of the variable's name, and the op goes:
//
//   var b f32[8] persistable
//   reshape2(X=b) -> (Out=c, XShape=s) {shape=[1, 8, 1, 1]}
//   elementwise_add(X=x, Y=c) -> (Out=y)
//
//   var c f32[1,8,1,1] persistable
//   elementwise_add(X=x, Y=c) -> (Out=y)
//
// An op is constant if its type has a reference kernel and draws no random numbers, and if it reads
// nothing but constants. It stays if what it writes is kept from run to run, written a second time,
// named by an attribute, or read where an attribute could stand (ops/attribute_inputs.h: a run
// plans for such a value, and knows it as long as ops compute it); if it is in a block that an op
// runs; and if its outputs have more than kMostGrowth bytes more than its inputs. Shapes of values
// that are fed are no constants, because a run may feed other ones.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/attribute_inputs.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/prepare_context.h"

namespace fixpoint {
namespace {

constexpr int64_t kMostGrowth = int64_t{1} << 20;

bool StandsForAttribute(const Argument& reader) {
  const auto inputs = AttributeInputs();
  return std::any_of(inputs.begin(), inputs.end(), [&reader](const AttributeInput& input) {
    return input.slot == reader.slot_name();
  });
}

// The bytes of a tensor as it is declared; nothing where an extent is not known.
std::optional<int64_t> DeclaredBytes(const Variable& variable) {
  const VarType::TensorDesc& tensor = *variable.tensor();
  const Dims dims(tensor.dims().begin(), tensor.dims().end());
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) {
    return std::nullopt;
  }
  const absl::StatusOr<int64_t> bytes = TensorBytes(tensor.data_type(), dims);
  return bytes.ok() ? std::optional(*bytes) : std::nullopt;
}

class Folder {
 public:
  Folder(Program* program, PrepareContext* context, absl::string_view pass)
      : program_(*program),
        context_(*context),
        rewriter_(program, pass),
        named_(NamesInAllAttributes(*program)) {}

  absl::Status FoldAll() {
    for (const Op& op : program_.block(0).ops()) {
      const std::optional<std::vector<const Argument*>> results = ResultsOfConstant(op);
      if (results) RETURN_IF_ERROR(Fold(op, *results));
    }
    return absl::OkStatus();
  }

 private:
  // The outputs that are read, if the op is constant and can go.
  std::optional<std::vector<const Argument*>> ResultsOfConstant(const Op& op) const {
    if (!IsConstant(op, context_.parameters)) return std::nullopt;
    int64_t allowed = kMostGrowth;
    for (const Argument* input : op.inputs()) {
      const Tensor* const tensor = FindConstant(input, context_.parameters);
      if (tensor != nullptr) allowed += static_cast<int64_t>(tensor->bytes().size());
    }
    std::vector<const Argument*> results;
    for (const Argument* output : op.outputs()) {
      if (output->value() == nullptr) continue;
      if (!HoldsOneValue(*output->variable())) return std::nullopt;
      if (IsUnread(*output->value())) continue;
      if (!CanBeParameter(*output, &allowed)) return std::nullopt;
      results.push_back(output);
    }
    return results.empty() ? std::nullopt : std::optional(std::move(results));
  }

  // Whether the variable holds nothing else, and nothing refers to it but the ops that read it.
  bool HoldsOneValue(const Variable& variable) const {
    return variable.values().size() == 1 && variable.is_dense_tensor() && !variable.persistable() &&
           !named_.contains(variable.name());
  }

  bool CanBeParameter(const Argument& output, int64_t* allowed) const {
    const auto readers = output.value()->readers();
    if (std::any_of(readers.begin(), readers.end(),
                    [](const Argument* reader) { return StandsForAttribute(*reader); })) {
      return false;
    }
    const std::optional<int64_t> bytes = DeclaredBytes(*output.variable());
    if (!bytes || *bytes > *allowed) return false;
    *allowed -= *bytes;
    return true;
  }

  absl::Status Fold(const Op& op, const std::vector<const Argument*>& results) {
    absl::StatusOr<std::vector<Tensor>> tensors =
        Evaluate(program_, op, results, context_.parameters);
    if (!tensors.ok()) {
      context_.notes.push_back(absl::StrCat(DescribeInFile(op),
                                            " reads only constants, and cannot be computed: ",
                                            std::string(tensors.status().message())));
      return absl::OkStatus();
    }
    for (const Tensor& tensor : *tensors) {
      if (!tensor.lod().empty()) return absl::OkStatus();
    }
    for (size_t i = 0; i < results.size(); ++i) {
      MakeParameter(*results[i]->variable(), std::move((*tensors)[i]));
    }
    rewriter_.Remove(op);
    return absl::OkStatus();
  }

  void MakeParameter(const Variable& variable, Tensor tensor) {
    VarDesc desc = *variable.desc();
    desc.set_persistable(true);
    VarType::TensorDesc& type = *desc.mutable_type()->mutable_lod_tensor()->mutable_tensor();
    type.set_data_type(tensor.dtype());
    type.clear_dims();
    for (const int64_t dim : tensor.dims()) type.add_dims(dim);
    rewriter_.SetVariable(variable, std::move(desc));
    context_.parameters.added.Set(variable.name(), std::move(tensor));
  }

  Program& program_;
  PrepareContext& context_;
  Rewriter rewriter_;
  const absl::flat_hash_set<std::string> named_;
};

class FoldConstants final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "fold_constants"; }
  absl::string_view doc() const override {
    return "Computes what parameters and attributes alone decide, and makes it parameters.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    return Folder(&program, &context, name()).FoldAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFoldConstants() { return std::make_unique<FoldConstants>(); }

}  // namespace fixpoint
