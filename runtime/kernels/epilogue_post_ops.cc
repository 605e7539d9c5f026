#include "runtime/kernels/epilogue_post_ops.h"

#include <glog/logging.h>

#include "ops/dims.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;
using Kind = EpilogueStage::Kind;

// A desc with one element for each channel of `out`.
memory::desc OfChannels(const memory::desc& out, int channel_axis) {
  Dims dims(out.get_ndims(), 1);
  dims[channel_axis] = out.get_dims()[channel_axis];
  return RowMajor(dims, memory::data_type::f32);
}

// The same layout with another element type.
memory::desc WithType(const memory::desc& desc, memory::data_type type) {
  return memory::desc(desc.get_dims(), type, desc.get_strides());
}

int32_t ZeroPointOf(const EpilogueStage& stage) { return static_cast<int32_t>(stage.b); }

}  // namespace

EpiloguePostOps::EpiloguePostOps(const Epilogue& epilogue, const memory::desc& out,
                                 int channel_axis, bool adds_to_output)
    : epilogue_(epilogue) {
  for (const EpilogueStage& stage : epilogue_) {
    const bool is_in_output =
        stage.is_of_codes() || (adds_to_output && stage.kind == Kind::kAddElement);
    if (!stage.has_operand() || is_in_output) {
      operands_.push_back(std::nullopt);
    } else if (stage.kind == Kind::kAddElement) {
      operands_.push_back(Operand::Elsewhere(WithType(out, memory::data_type::f32)));
    } else {
      operands_.push_back(Operand::Elsewhere(OfChannels(out, channel_axis)));
    }
  }
}

dnnl::primitive_attr EpiloguePostOps::attr() const {
  if (epilogue_.size() > kMostPostOps) {
    throw dnnl::error(dnnl_unimplemented, "an epilogue of more stages than it takes");
  }
  dnnl::post_ops post_ops;
  for (size_t i = 0; i < epilogue_.size(); ++i) {
    const EpilogueStage& stage = epilogue_[i];
    switch (stage.kind) {
      case Kind::kAddElement:
        if (!operands_[i]) {
          post_ops.append_sum(1);
          break;
        }
        [[fallthrough]];
      case Kind::kAddChannel:
        post_ops.append_binary(dnnl::algorithm::binary_add, operands_[i]->memory().get_desc());
        break;
      case Kind::kMultiplyChannel:
        post_ops.append_binary(dnnl::algorithm::binary_mul, operands_[i]->memory().get_desc());
        break;
      case Kind::kRequantize:
        throw dnnl::error(dnnl_unimplemented, "a stage that requantizes, which it does not have");
      case Kind::kAddInt8:
        post_ops.append_sum(stage.a, ZeroPointOf(stage), memory::data_type::s8);
        break;
      case Kind::kAddUint8:
        post_ops.append_sum(stage.a, ZeroPointOf(stage), memory::data_type::u8);
        break;
      case Kind::kMultiply:
        post_ops.append_eltwise(dnnl::algorithm::eltwise_linear, stage.a, 0);
        break;
      case Kind::kAdd:
        post_ops.append_eltwise(dnnl::algorithm::eltwise_linear, 1, stage.a);
        break;
      case Kind::kRound:
        post_ops.append_eltwise(dnnl::algorithm::eltwise_round, 0, 0);
        break;
      case Kind::kRelu:
        post_ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
        break;
      case Kind::kLeakyRelu:
        post_ops.append_eltwise(dnnl::algorithm::eltwise_relu, stage.a, 0);
        break;
      case Kind::kHardSwish:
        post_ops.append_eltwise(dnnl::algorithm::eltwise_hardswish, stage.a, stage.b);
        break;
      case Kind::kClip:
        post_ops.append_eltwise(dnnl::algorithm::eltwise_clip, stage.a, stage.b);
        break;
    }
  }
  dnnl::primitive_attr attr = Attributes();
  attr.set_post_ops(post_ops);
  return attr;
}

std::vector<Execution::Argument> EpiloguePostOps::With(
    std::vector<Execution::Argument> arguments) const {
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (!operands_[i]) continue;
    const int name = DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1;
    arguments.push_back({name, *operands_[i]});
  }
  return arguments;
}

void EpiloguePostOps::PointTo(EpilogueOperands operands) {
  CHECK_EQ(operands.size(), operands_.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands_[i]) operands_[i]->PointTo(operands[i]);
  }
}

}  // namespace fixpoint::kernels
