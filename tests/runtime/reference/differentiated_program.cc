#include "tests/runtime/reference/differentiated_program.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/backward.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "proto/text/program_text.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "tests/testing/parameter_text.h"

namespace fixpoint::reference {
namespace {

const VarDesc* FindVariable(const BlockDesc& block, absl::string_view name) {
  for (const VarDesc& variable : block.vars()) {
    if (variable.name() == name) return &variable;
  }
  return nullptr;
}

void Declare(const std::string& name, VarType::Type dtype, DimsView dims, BlockDesc* block) {
  VarDesc* variable = block->add_vars();
  variable->set_name(name);
  variable->mutable_type()->set_type(VarType::LOD_TENSOR);
  auto* tensor = variable->mutable_type()->mutable_lod_tensor()->mutable_tensor();
  tensor->set_data_type(dtype);
  for (const int64_t dim : dims) tensor->add_dims(dim);
}

// Gives the op all attributes, and declares its outputs as they are inferred.
void Complete(Era era, OpDesc* op, BlockDesc* block) {
  CompleteAttrs(era, op);
  const auto inferred = InferOutputs(
      *op, era, [block](absl::string_view name) { return FindVariable(*block, name); });
  CHECK(inferred.ok()) << op->type() << ": " << inferred.status();
  auto output = inferred->begin();
  for (const OpDesc::Var& slot : op->outputs()) {
    for (const std::string& name : slot.arguments()) {
      if (FindVariable(*block, name) == nullptr) {
        const DimsView dims = output->dims ? DimsView(*output->dims) : DimsView();
        Declare(name, output->dtype.value_or(VarType::FP32), dims, block);
      }
      ++output;
    }
  }
}

OpDesc ParsedOp(absl::string_view text) { return ParseProgramText(text, "op")->blocks(0).ops(0); }

// The ops of `text`, those of the loss, and then their gradients.
Program WithBackward(absl::string_view text, int64_t version) {
  auto desc = ParseProgramText(text, "case");
  CHECK(desc.ok()) << desc.status();
  desc->mutable_version()->set_version(version);
  BlockDesc* block = desc->mutable_blocks(0);
  const Era era = EraOf(version);
  for (OpDesc& op : *block->mutable_ops()) Complete(era, &op, block);
  const VarDesc* out = FindVariable(*block, "out");
  CHECK(out != nullptr) << "no op writes out";
  const auto& out_dims = out->type().lod_tensor().tensor().dims();
  Declare("coefficients", VarType::FP32, Dims(out_dims.begin(), out_dims.end()), block);
  block->mutable_vars()->rbegin()->set_need_check_feed(true);
  for (const char* line : {"elementwise_mul(X=out, Y=coefficients) -> (Out=weighted)",
                           "mean(X=weighted) -> (Out=loss)"}) {
    *block->add_ops() = ParsedOp(line);
    Complete(era, block->mutable_ops(block->ops_size() - 1), block);
  }
  auto program = Program::Create(*desc, "case");
  CHECK(program.ok()) << program.status();
  const auto gradients = AppendBackward(&*program, "loss");
  CHECK(gradients.ok()) << gradients.status();
  return *std::move(program);
}

}  // namespace

DifferentiatedProgram::DifferentiatedProgram(absl::string_view text, absl::string_view inputs,
                                             int64_t version, InputRange range)
    : program_(WithBackward(text, version)) {
  absl::StatusOr<Scope> given = ParseParameters(inputs, "inputs");
  CHECK(given.ok()) << given.status();
  inputs_ = *std::move(given);
  uint32_t drawn = 0;
  for (const Variable* variable : program_.block(0).variables()) {
    const auto values = variable->values();
    const bool is_written =
        !variable->persistable() && std::any_of(values.begin(), values.end(), [](const Value* v) {
          return v->origin() == Value::Origin::kWrite || v->origin() == Value::Origin::kExit;
        });
    if (is_written) continue;
    if (const Scope::Value* known = inputs_.FindOrNull(variable->name()); known != nullptr) {
      const bool is_real = std::get<Tensor>(*known).dtype() == VarType::FP64;
      if (is_real && variable->persistable()) parameters_.push_back(variable->name());
      continue;
    }
    const RandomStream random(1, ++drawn, 0);
    const auto& dims = variable->tensor()->dims();
    Tensor tensor = *Tensor::Allocate(VarType::FP64, {dims.begin(), dims.end()});
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.mutable_data<double>()[i] = range.low + (range.high - range.low) * random.Uniform(i);
    }
    inputs_.Set(variable->name(), std::move(tensor));
    if (variable->persistable()) parameters_.push_back(variable->name());
  }
}

Scope DifferentiatedProgram::Inputs() const {
  Scope copy;
  for (const auto& [name, value] : inputs_) copy.Set(name, *Scope::CloneOf(value));
  return copy;
}

int64_t DifferentiatedProgram::SizeOf(const std::string& parameter) const {
  return (*inputs_.Find(parameter))->size();
}

std::vector<double> DifferentiatedProgram::Run(Scope scope, const std::string& fetch) const {
  absl::StatusOr<Interpreter> interpreter =
      Interpreter::Create(program_, &scope, {Precision::kDouble, /*seed=*/0});
  CHECK(interpreter.ok()) << interpreter.status();
  const auto fetched = interpreter->Run({}, {fetch}, 0);
  CHECK(fetched.ok()) << fetched.status();
  const auto values = fetched->front().data<double>();
  return {values.begin(), values.end()};
}

double DifferentiatedProgram::LossAt(const std::string& parameter, int64_t i, double shift) const {
  Scope scope = Inputs();
  std::get<Tensor>(*scope.FindOrNull(parameter)).mutable_data<double>()[i] += shift;
  return Run(std::move(scope), "loss")[0];
}

std::vector<double> DifferentiatedProgram::GradientOf(const std::string& parameter) const {
  return Run(Inputs(), absl::StrCat(parameter, kGradientSuffix));
}

}  // namespace fixpoint::reference
