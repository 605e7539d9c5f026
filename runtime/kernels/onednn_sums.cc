#include "runtime/kernels/onednn_sums.h"

#include <glog/logging.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_implementations.h"
#include "runtime/kernels/onednn_packed_form.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/sum_begin.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

memory::data_type DataTypeOf(CodeType type) {
  return type == CodeType::kUint8 ? memory::data_type::u8 : memory::data_type::s8;
}

memory::data_type DataTypeOf(OutputType type) {
  switch (type) {
    case OutputType::kUint8:
      return memory::data_type::u8;
    case OutputType::kInt8:
      return memory::data_type::s8;
    case OutputType::kFloat:
      break;
  }
  return memory::data_type::f32;
}

class OnednnSums final : public IntegerSums, public HasPackedForm {
 public:
  OnednnSums(const SumsPrimitive& planned, const SumsProblem& problem,
             const EpiloguePostOps& post_ops)
      : implementation_(planned.implementation),
        coding_(problem.coding),
        epilogue_(problem.epilogue),
        output_(problem.output),
        post_ops_(post_ops),
        plain_weights_(Operand::Elsewhere(planned.plain_weights)),
        weights_(Operand::Elsewhere(planned.weights)),
        inputs_(Operand::Elsewhere(planned.inputs)),
        zero_point_(Operand::Own(RowMajor({1}, memory::data_type::s32))),
        bias_(Operand::Own(planned.bias)),
        scales_(Operand::Elsewhere(RowMajor({planned.channels}, memory::data_type::f32))),
        out_(Operand::Elsewhere(planned.out)),
        pack_(Reordering(plain_weights_, weights_)),
        add_up_(planned.desc, post_ops_.With(Arguments())) {}

  int64_t packed_bytes() const override { return weights_.bytes(); }
  std::string packed_form() const override {
    const auto& [type, has_zero_point] = coding_.inputs;
    return FormOfReordering(plain_weights_.memory().get_desc(), weights_.memory().get_desc(),
                            absl::StrCat("for ", type == CodeType::kInt8 ? "signed" : "unsigned",
                                         has_zero_point ? " codes with a zero point" : " codes"));
  }

  bool reads_plain_weights() const override {
    return weights_.memory().get_desc() == plain_weights_.memory().get_desc();
  }

  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    plain_weights_.PointTo(codes);
    weights_.PointTo(packed);
    pack_.Run();
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(
        operands, out, coding_,
        {inputs_.bytes(), packed_bytes(), static_cast<int64_t>(scales_.size<float>()), out_size()},
        epilogue_, output_);
    *zero_point_.data<int32_t>() = operands.zero_point;
    inputs_.PointTo(operands.inputs);
    weights_.PointTo(operands.weights);
    if (coding_.has_bias) {
      std::copy(operands.bias.begin(), operands.bias.end(), bias_.data<float>());
      stage_operands_ = {operands.scales};
      stage_operands_.insert(stage_operands_.end(), operands.epilogue.begin(),
                             operands.epilogue.end());
      post_ops_.PointTo(stage_operands_);
    } else {
      scales_.PointTo(operands.scales);
      post_ops_.PointTo(operands.epilogue);
    }
    if (output_ == OutputType::kFloat) {
      out_.PointTo(out.As<float>());
    } else {
      out_.PointTo(out.As<uint8_t>());
    }
    add_up_.Run();
  }

  std::string implementation() const override { return implementation_; }

 private:
  // Elements.
  int64_t out_size() const {
    return output_ == OutputType::kFloat ? static_cast<int64_t>(out_.size<float>()) : out_.bytes();
  }

  std::vector<Execution::Argument> Arguments() const {
    std::vector<Execution::Argument> arguments = {
        {DNNL_ARG_SRC, inputs_}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, out_}};
    if (coding_.has_bias) {
      arguments.push_back({DNNL_ARG_BIAS, bias_});
    } else {
      arguments.push_back({DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scales_});
    }
    if (coding_.inputs.has_zero_point) {
      arguments.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, zero_point_});
    }
    return arguments;
  }

  const std::string implementation_;
  const SumCoding coding_;
  const Epilogue epilogue_;
  const OutputType output_;
  EpiloguePostOps post_ops_;
  Operand plain_weights_;
  Operand weights_;
  Operand inputs_;
  Operand zero_point_;
  Operand bias_;
  Operand scales_;
  Operand out_;
  Execution pack_;
  Execution add_up_;
  std::vector<absl::Span<const float>> stage_operands_;
};

template <typename Shape>
std::unique_ptr<IntegerSums> PlanFor(const Shape& shape, const SumsProblem& problem) {
  const SumCoding& coding = problem.coding;
  Epilogue stages = problem.epilogue;
  if (coding.has_bias) stages.insert(stages.begin(), {EpilogueStage::Kind::kMultiplyChannel});
  const EpiloguePostOps post_ops(stages, ResultDesc(shape), ChannelAxis(shape));
  dnnl::primitive_attr attr = post_ops.attr();
  if (!coding.has_bias) attr.set_scales_mask(DNNL_ARG_WEIGHTS, ScalesMask(shape));
  if (coding.inputs.has_zero_point) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
  constexpr auto kWeights = memory::data_type::s8;
  auto desc =
      SumsDesc(shape, {DataTypeOf(coding.inputs.type), kWeights, DataTypeOf(problem.output)}, attr,
               coding.has_bias ? BiasDesc(shape) : memory::desc());
  if (!Choose(OnednnUse::kSumsOfCodes, &desc)) return nullptr;
  return std::make_unique<OnednnSums>(SumsPrimitiveOf(desc, shape, kWeights), problem, post_ops);
}

}  // namespace

std::unique_ptr<IntegerSums> PlanOnednnSums(const SumsProblem& problem) {
  return std::visit([&](const auto& shape) { return PlanFor(shape, problem); }, problem.shape);
}

}  // namespace fixpoint::kernels
