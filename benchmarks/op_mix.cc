#include "benchmarks/op_mix.h"

#include <glog/logging.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "proto/text/program_text.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kSmallTrainingStep = R"(
var x f32[-1,3,32,32] lod=0
var w f32[16,3,3,3] persistable
var conv f32[-1,16,32,32] lod=0 persistable=false
var scale f32[16] persistable
var bias f32[16] persistable
var mean f32[16] persistable
var variance f32[16] persistable
var saved_mean f32[16] lod=0 persistable=false
var saved_variance f32[16] lod=0 persistable=false
var norm f32[-1,16,32,32] lod=0 persistable=false
var act f32[-1,16,32,32] lod=0 persistable=false
var loss f32[1] lod=0 persistable=false
var loss@GRAD f32[1] lod=0 persistable=false
var act@GRAD f32[-1,16,32,32] lod=0 persistable=false
var norm@GRAD f32[-1,16,32,32] lod=0 persistable=false
var conv@GRAD f32[-1,16,32,32] lod=0 persistable=false
var scale@GRAD f32[16] lod=0 persistable=false
var bias@GRAD f32[16] lod=0 persistable=false
var w@GRAD f32[16,3,3,3] lod=0 persistable=false
var velocity f32[16,3,3,3] persistable
var learning_rate f32[1] persistable
conv2d(Bias=[], Filter=w, Input=x, ResidualData=[]) -> (Output=conv) {data_format="AnyLayout",
  dilations=[1, 1], exhaustive_search=false, fuse_beta=0.0, fuse_relu=false, groups=1, op_role=0,
  op_namescope="/", op_role_var=strings[], padding_algorithm="EXPLICIT", paddings=[1, 1],
  strides=[1, 1], use_cudnn=true, use_mkldnn=false, workspace_size_MB=512}
batch_norm(Bias=bias, Mean=mean, Scale=scale, Variance=variance, X=conv) -> (MeanOut=mean,
  SavedMean=saved_mean, SavedVariance=saved_variance, VarianceOut=variance, Y=norm) {
  data_layout="NCHW", epsilon=1e-05, is_test=false, momentum=0.9, op_namescope="/", op_role=0,
  op_role_var=strings[], use_global_stats=false, use_mkldnn=false}
relu(X=norm) -> (Out=act) {op_namescope="/", op_role=0, op_role_var=strings[], use_mkldnn=false}
mean(X=act) -> (Out=loss) {op_namescope="/", op_role=256, op_role_var=strings[]}
fill_constant() -> (Out=loss@GRAD) {dtype=5, force_cpu=false, op_role=257, shape=[1L], value=1.0}
mean_grad(Out@GRAD=loss@GRAD, X=act) -> (X@GRAD=act@GRAD) {op_role=1, op_role_var=strings[]}
relu_grad(Out=act, Out@GRAD=act@GRAD) -> (X@GRAD=norm@GRAD) {op_role=1, op_role_var=strings[]}
batch_norm_grad(Bias=bias, SavedMean=saved_mean, SavedVariance=saved_variance, Scale=scale,
  X=conv, Y@GRAD=norm@GRAD) -> (Bias@GRAD=bias@GRAD, Scale@GRAD=scale@GRAD, X@GRAD=conv@GRAD) {
  data_layout="NCHW", epsilon=1e-05, is_test=false, momentum=0.9, op_role=1,
  op_role_var=["scale", "scale@GRAD", "bias", "bias@GRAD"], use_global_stats=false}
conv2d_grad(Filter=w, Input=x, Output@GRAD=conv@GRAD) -> (Filter@GRAD=w@GRAD, Input@GRAD=[]) {
  dilations=[1, 1], groups=1, op_role=1, op_role_var=["w", "w@GRAD"], paddings=[1, 1],
  strides=[1, 1], use_cudnn=true, use_mkldnn=false}
momentum(Grad=w@GRAD, LearningRate=learning_rate, Param=w, Velocity=velocity) -> (ParamOut=w,
  VelocityOut=velocity) {mu=0.9, op_role=2, op_role_var=["w", "w@GRAD"], use_nesterov=false}
)";

bool RunsSubBlock(const OpDesc& op) {
  return std::any_of(op.attrs().begin(), op.attrs().end(), [](const OpDesc::Attr& attr) {
    return attr.type() == BLOCK || attr.type() == BLOCKS;
  });
}

// The ops of one repetition are renamed with it.
class Repetition {
 public:
  Repetition(const BlockDesc& block, int number)
      : suffix_(number == 0 ? "" : absl::StrCat("__", number)) {
    for (const VarDesc& var : block.vars()) declared_.insert(var.name());
  }

  VarDesc Renamed(VarDesc var) const {
    Rename(var.mutable_name());
    return var;
  }

  OpDesc Renamed(OpDesc op) const {
    for (OpDesc::Var& slot : *op.mutable_inputs()) RenameAll(slot.mutable_arguments());
    for (OpDesc::Var& slot : *op.mutable_outputs()) RenameAll(slot.mutable_arguments());
    for (OpDesc::Attr& attr : *op.mutable_attrs()) {
      if (attr.name() == "op_role_var") RenameAll(attr.mutable_strings());
    }
    return op;
  }

 private:
  void Rename(std::string* name) const {
    if (declared_.contains(*name)) name->append(suffix_);
  }

  template <typename Names>
  void RenameAll(Names* names) const {
    for (std::string& name : *names) Rename(&name);
  }

  std::string suffix_;
  absl::flat_hash_set<std::string> declared_;
};

}  // namespace

ProgramDesc OpMixSeed() {
  const std::string path = ReferencePath("models/ssd_mobilenet_v1_TRAIN.pdmodel.gz");
  if (path.empty()) {
    absl::StatusOr<ProgramDesc> program = ParseProgramText(kSmallTrainingStep, "op_mix.cc");
    CHECK(program.ok()) << program.status();
    return *std::move(program);
  }
  ProgramDesc program;
  CHECK(program.ParseFromString(ReadFileOrDie(path))) << path;
  for (BlockDesc& block : *program.mutable_blocks()) {
    for (OpDesc& op : *block.mutable_ops()) {
      auto* const attrs = op.mutable_attrs();
      attrs->erase(
          std::remove_if(attrs->begin(), attrs->end(),
                         [](const OpDesc::Attr& attr) { return attr.name() == "op_callstack"; }),
          attrs->end());
    }
  }
  return program;
}

ProgramDesc RepeatOpMix(const ProgramDesc& seed, int ops) {
  const BlockDesc& block = seed.blocks(0);
  CHECK(std::any_of(block.ops().begin(), block.ops().end(),
                    [](const OpDesc& op) { return !RunsSubBlock(op); }));
  ProgramDesc program = seed;
  program.clear_blocks();
  BlockDesc* const repeated = program.add_blocks();
  repeated->set_idx(0);
  repeated->set_parent_idx(-1);
  for (int i = 0; repeated->ops_size() < ops; ++i) {
    const Repetition repetition(block, i);
    for (const VarDesc& var : block.vars()) *repeated->add_vars() = repetition.Renamed(var);
    for (const OpDesc& op : block.ops()) {
      if (repeated->ops_size() == ops) break;
      if (!RunsSubBlock(op)) *repeated->add_ops() = repetition.Renamed(op);
    }
  }
  return program;
}

}  // namespace fixpoint
