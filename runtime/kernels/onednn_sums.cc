#include "runtime/kernels/onednn_sums.h"

#include <glog/logging.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/sum_begin.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

Epilogue WithScales(const SumCoding& coding, const Epilogue& epilogue) {
  Epilogue stages;
  if (coding.has_bias) stages.push_back({EpilogueStage::Kind::kMultiplyChannel});
  stages.insert(stages.end(), epilogue.begin(), epilogue.end());
  return stages;
}

class WithInstructions final : public IntegerSums {
 public:
  WithInstructions(const SumsPrimitive& planned, const SumCoding& coding, const Epilogue& epilogue,
                   const EpiloguePostOps& post_ops)
      : implementation_(planned.implementation),
        coding_(coding),
        epilogue_(epilogue),
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

  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    plain_weights_.PointTo(codes);
    weights_.PointTo(packed);
    pack_.Run();
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_,
             {static_cast<int64_t>(inputs_.size<uint8_t>()), packed_bytes(),
              static_cast<int64_t>(scales_.size<float>()), static_cast<int64_t>(out.size())},
             epilogue_, out.type());
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
    if (out.type() == OutputType::kFloat) {
      out_.PointTo(out.As<float>());
    } else {
      out_.PointTo(out.As<uint8_t>());
    }
    add_up_.Run();
  }

  std::string implementation() const override { return implementation_; }

 private:
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

}  // namespace

bool AddsCodesExactly(absl::string_view implementation) {
  const size_t at = implementation.rfind(':');
  if (at == absl::string_view::npos) return false;
  implementation.remove_prefix(at + 1);
  constexpr absl::string_view kInstructionSets[] = {"avx2_vnni",        "avx512_core_vnni",
                                                    "avx512_core_bf16", "avx512_core_fp16",
                                                    "avx512_core_amx",  "avx10_"};
  return std::any_of(std::begin(kInstructionSets), std::end(kInstructionSets),
                     [&](absl::string_view set) { return absl::StartsWith(implementation, set); });
}

bool StoresSumsExactly(absl::string_view implementation) {
  return AddsCodesExactly(implementation) && absl::StartsWith(implementation, "br");
}

FusedSums::FusedSums(const SumCoding& coding, const Epilogue& epilogue, const memory::desc& out,
                     int channel_axis, int scales_mask)
    : coding_(coding),
      epilogue_(epilogue),
      post_ops_(WithScales(coding, epilogue), out, channel_axis),
      scales_mask_(scales_mask) {}

dnnl::primitive_attr FusedSums::attr() const {
  dnnl::primitive_attr attr = post_ops_.attr();
  if (!coding_.has_bias) attr.set_scales_mask(DNNL_ARG_WEIGHTS, scales_mask_);
  if (coding_.inputs.has_zero_point) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
  return attr;
}

memory::desc FusedSums::bias(int64_t channels, int axes) const {
  if (!coding_.has_bias) return memory::desc();
  Dims dims(axes, 1);
  dims.back() = channels;
  return RowMajor(dims, memory::data_type::f32);
}

std::unique_ptr<IntegerSums> FusedSums::Make(const SumsPrimitive& primitive) const {
  return std::make_unique<WithInstructions>(primitive, coding_, epilogue_, post_ops_);
}

}  // namespace fixpoint::kernels
