// inline_shapes: writes the shape of a reshape that ops compute into its attribute, and removes the
// ops that then nothing reads:
//
//   shape(Input=x) -> (Out=s)
//   slice(Input=s) -> (Out=n) {axes=[0], decrease_axis=[0], ends=[1], starts=[0]}
//   fill_constant() -> (Out=c) {dtype=2, shape=[1L], value=120.0}
//   reshape2(ShapeTensor=[n, c], X=x) -> (Out=y)
//
//   reshape2(X=x) -> (Out=y) {shape=[0, 120]}
//
// An element that is the extent of X at the same place is 0, which copies it; one that is not known
// otherwise is -1, which a run finds by the number of elements; a second one leaves the reshape as
// it is. Every run of the given program that ends without an error has the same result.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/prepare_context.h"

namespace fixpoint {
namespace {

constexpr char kShape[] = "shape";
constexpr char kList[] = "ShapeTensor";

const Op* WriterOf(const Argument* input) {
  return input == nullptr || input->value() == nullptr ? nullptr : input->value()->op();
}

class ShapeInliner {
 public:
  ShapeInliner(Program* program, PrepareContext* context, absl::string_view pass)
      : era_(EraOf(*program)), program_(*program), context_(*context), rewriter_(program, pass) {}

  void InlineAll() {
    for (const Op& op : program_.block(0).ops()) {
      if (op.type() != "reshape" && op.type() != "reshape2") continue;
      const std::optional<std::vector<int32_t>> shape = ShapeOf(op);
      if (!shape) continue;
      std::vector<const Op*> writers;
      for (const Argument* element : op.Inputs(kList)) writers.push_back(WriterOf(element));
      rewriter_.RemoveInputs(op, kList);
      rewriter_.SetAttr(op, MakeIntsAttr(kShape, *shape));
      for (const Op* writer : writers) RemoveUnread(writer);
    }
  }

 private:
  // What is known of the list of elements; nothing if the op has none, or it is not enough.
  std::optional<std::vector<int32_t>> ShapeOf(const Op& op) const {
    const auto list = op.Inputs(kList);
    const Argument* const x = op.Input("X");
    if (list.empty() || x == nullptr) return std::nullopt;
    std::vector<int32_t> shape;
    int inferred = 0;
    for (const Argument* element : list) {
      const auto place = static_cast<int64_t>(shape.size());
      const std::optional<int64_t> number = NumberOf(*element);
      if (number && *number >= -1 && *number <= INT32_MAX) {
        shape.push_back(static_cast<int32_t>(*number));
      } else {
        shape.push_back(!number && IsExtentOf(*x, place, *element) ? 0 : -1);
      }
      inferred += shape.back() == -1;
    }
    return inferred <= 1 ? std::optional(std::move(shape)) : std::nullopt;
  }

  // The element that an op computes from constants.
  std::optional<int64_t> NumberOf(const Argument& element) const {
    const Op* const writer = WriterOf(&element);
    if (writer == nullptr || element.variable()->values().size() != 1 ||
        !IsConstant(*writer, context_.parameters)) {
      return std::nullopt;
    }
    const absl::StatusOr<std::vector<Tensor>> made =
        Evaluate(program_, *writer, {element.value()->written_by()}, context_.parameters);
    if (!made.ok() || made->front().size() != 1) return std::nullopt;
    const Tensor& tensor = made->front();
    if (tensor.dtype() == VarType::INT32) return tensor.data<int32_t>()[0];
    if (tensor.dtype() == VarType::INT64) return tensor.data<int64_t>()[0];
    return std::nullopt;
  }

  // Whether an element is one of the shape of what `x` reads.
  bool IsExtentOf(const Argument& x, int64_t place, const Argument& element) const {
    const Op* const slice = WriterOf(&element);
    if (slice == nullptr || slice->type() != "slice") return false;
    const Op* const shape = WriterOf(slice->Input("Input"));
    const auto attributes = OpAttributes::Of(slice->desc(), era_);
    if (shape == nullptr || shape->type() != kShape || !attributes ||
        shape->Input("Input") == nullptr || shape->Input("Input")->value() != x.value()) {
      return false;
    }
    for (const char* slot : {"StartsTensor", "StartsTensorList", "EndsTensor", "EndsTensorList"}) {
      if (!slice->Inputs(slot).empty()) return false;
    }
    using Ints = std::vector<int64_t>;
    return attributes->Ints("axes") == Ints{0} && attributes->Ints("starts") == Ints{place} &&
           attributes->Ints("ends") == Ints{place + 1};
  }

  // Removes an op that nothing reads any more, and then what wrote its inputs.
  void RemoveUnread(const Op* op) {
    std::vector<const Op*> rest = {op};
    while (!rest.empty()) {
      const Op* const next = rest.back();
      rest.pop_back();
      if (next == nullptr || next->removed() || !IsFunction(*next) || !IsUnread(*next)) continue;
      for (const Argument* input : next->inputs()) rest.push_back(WriterOf(input));
      rewriter_.Remove(*next);
    }
  }

  const Era era_;
  Program& program_;
  PrepareContext& context_;
  Rewriter rewriter_;
};

class InlineShapes final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "inline_shapes"; }
  absl::string_view doc() const override {
    return "Writes shapes of reshapes that ops compute into their attributes.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    ShapeInliner(&program, &context, name()).InlineAll();
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeInlineShapes() { return std::make_unique<InlineShapes>(); }

}  // namespace fixpoint
