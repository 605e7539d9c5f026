#include "ops/program_builder.h"

#include <glog/logging.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/infer.h"
#include "ops/infer_in_program.h"
#include "ops/op_schema.h"
#include "ops/selected_rows.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/role_variables.h"
#include "proto/program/tensor_desc.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

// The release since which a tensor may have no dims.
constexpr int64_t kFirstWithScalars = 2005000;

// No program has as many variables: UniqueName never reaches names with this number.
constexpr int kNeverReached = 1000000000;

// A float as Python prints it, which the reference stores beside it.
std::string PythonText(float value) {
  const float size = std::fabs(value);
  const bool is_short = size == 0 || (size >= 1e-4f && size < 1e16f);
  char text[64];
  const auto [end, error] =
      std::to_chars(text, text + sizeof(text), value,
                    is_short ? std::chars_format::fixed : std::chars_format::scientific);
  CHECK(error == std::errc());
  const std::string number(text, end);
  return is_short && number.find('.') == std::string::npos ? number + ".0" : number;
}

const char* InitializerType(Initializer::Kind kind) {
  switch (kind) {
    case Initializer::Kind::kConstant:
      return "fill_constant";
    case Initializer::Kind::kUniform:
      return "uniform_random";
    case Initializer::Kind::kNormal:
      return "gaussian_random";
    case Initializer::Kind::kTruncatedNormal:
      return "truncated_gaussian_random";
  }
  LOG(FATAL) << "no kind of initializer: " << static_cast<int>(kind);
}

OpBuilder InitializerOp(const Initializer& initializer, VarType::Type dtype,
                        const std::vector<int64_t>& dims, Era era) {
  using Kind = Initializer::Kind;
  OpBuilder op(InitializerType(initializer.kind));
  op.IntAttr("dtype", dtype);
  if (initializer.kind == Kind::kTruncatedNormal) {
    op.IntsAttr("shape", std::vector<int32_t>(dims.begin(), dims.end()));
  } else {
    op.LongsAttr("shape", dims);
  }
  switch (initializer.kind) {
    case Kind::kConstant:
      op.FloatAttr("value", initializer.value).BoolAttr("force_cpu", initializer.force_cpu);
      if (era == Era::kPaddle2) op.StringAttr("str_value", PythonText(initializer.value));
      return op;
    case Kind::kUniform:
      op.FloatAttr("min", initializer.min).FloatAttr("max", initializer.max);
      break;
    case Kind::kNormal:
    case Kind::kTruncatedNormal:
      op.FloatAttr("mean", initializer.mean).FloatAttr("std", initializer.stddev);
      break;
  }
  op.IntAttr("seed", initializer.seed);
  return op;
}

absl::Status NameInUse(const VarDesc& desc, absl::string_view program) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", desc.name(), "\" cannot be declared: the name is in use in the ", program,
                   "; want another"));
}

// Whether one persistable variable can hold what another can.
bool HoldTheSame(const VarDesc& a, const VarDesc& b) {
  const VarType::TensorDesc* const of_a = TensorOf(a);
  const VarType::TensorDesc* const of_b = TensorOf(b);
  return a.persistable() == b.persistable() && a.type().type() == b.type().type() &&
         of_a != nullptr && of_b != nullptr && of_a->data_type() == of_b->data_type() &&
         std::equal(of_a->dims().begin(), of_a->dims().end(), of_b->dims().begin(),
                    of_b->dims().end());
}

}  // namespace

Program EmptyProgram(int major, int minor, int patch) {
  ProgramDesc desc;
  desc.mutable_version()->set_version(int64_t{1000000} * major + int64_t{1000} * minor + patch);
  BlockDesc* block = desc.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  absl::StatusOr<Program> program = Program::Create(desc);
  CHECK(program.ok()) << program.status();
  return *std::move(program);
}

ProgramBuilder::ProgramBuilder(Program* main, Program* startup)
    : main_(*main), startup_(*startup), era_(EraOf(*main)), role_(kForward) {
  if (main->version() != startup->version()) {
    Fail(absl::InvalidArgumentError(absl::StrCat(
        "the program's version is ", main->version(), " and that of its startup program ",
        startup->version(), "; want the startup program that belongs to it")));
  }
  Begin();
}

// Takes the programs as they are now.
void ProgramBuilder::Begin() {
  block_ = &main_.block(0);
  rewriter_.emplace(&main_, "build");
  startup_rewriter_.emplace(&startup_, "build");
  for (int b = 0; b < main_.block_count(); ++b) {
    for (const Variable* variable : main_.block(b).variables()) Avoid(variable->name());
  }
}

void ProgramBuilder::Avoid(absl::string_view name) {
  const absl::string_view stem = name.substr(0, name.find('.'));
  const size_t underscore = stem.rfind('_');
  int number = 0;
  if (underscore == absl::string_view::npos ||
      !absl::SimpleAtoi(stem.substr(underscore + 1), &number) || number < 0 ||
      number >= kNeverReached) {
    return;
  }
  int& next = next_number_[std::string(stem.substr(0, underscore))];
  next = std::max(next, number + 1);
}

const Variable* ProgramBuilder::FindInMain(absl::string_view name) const {
  return main_.Find(main_.block(0), name);
}

std::vector<int64_t> ProgramBuilder::ScalarDims() const {
  return main_.version() >= kFirstWithScalars ? std::vector<int64_t>() : std::vector<int64_t>{1};
}

std::string ProgramBuilder::UniqueName(absl::string_view base) {
  return absl::StrCat(base, "_", next_number_[std::string(base)]++);
}

void ProgramBuilder::SetRole(int role, std::vector<std::string> role_var) {
  role_ = role;
  role_var_ = std::move(role_var);
}

void ProgramBuilder::CheckInputs(const OpDesc& op) {
  if (FindOpSchema(op.type()) == nullptr) {
    return Fail(
        absl::InvalidArgumentError(absl::StrCat("there is no op type \"", op.type(), "\"")));
  }
  for (const OpDesc::Var& slot : op.inputs()) {
    for (const std::string& name : slot.arguments()) {
      const Variable* variable = main_.Find(*block_, name);
      if (variable != nullptr && variable->desc() != nullptr) continue;
      Fail(absl::InvalidArgumentError(absl::StrCat(op.type(), ": no layer made \"", name, "\"")));
    }
  }
}

void ProgramBuilder::Complete(OpDesc* op) const {
  *op->add_attrs() = MakeIntAttr("op_role", role_);
  *op->add_attrs() = MakeStringsAttr(kRoleVarAttr, role_var_);
  CompleteAttrs(era_, op);
}

void ProgramBuilder::DeclareOutputs(const OpDesc& op) {
  const Block& block = *block_;
  const absl::StatusOr<std::vector<InferredOutput>> inferred = InferOutputs(op, era_, main_, block);
  if (!inferred.ok()) {
    return Fail(absl::Status(inferred.status().code(),
                             absl::StrCat(op.type(), ": ", inferred.status().message())));
  }
  size_t i = 0;
  for (const OpDesc::Var& slot : op.outputs()) {
    for (const std::string& name : slot.arguments()) {
      const InferredOutput& output = (*inferred)[i++];
      const Variable* variable = main_.Find(block, name);
      if (name == kEmptyArgument || (variable != nullptr && variable->desc() != nullptr)) continue;
      std::vector<int64_t> dims;
      if (output.dims) dims.assign(output.dims->begin(), output.dims->end());
      VarDesc desc = MakeTensorVar(name, output.dtype.value_or(VarType::FP32), dims);
      if (output.kind == VarType::SELECTED_ROWS) MakeSelectedRows(desc.mutable_type());
      Declare(block, desc);
    }
  }
}

void ProgramBuilder::Declare(const Block& block, VarDesc& desc) {
  if (!status_.ok()) return;
  if (era_ == Era::kPaddle2 && is_without_gradient_.contains(desc.name())) {
    desc.set_stop_gradient(true);
  }
  if (!rewriter_->AddVariable(block, desc).ok()) return Fail(NameInUse(desc, "program"));
  Avoid(desc.name());
}

std::vector<int64_t> ProgramBuilder::DimsOf(const std::string& name) {
  if (!status_.ok()) return {};
  const Variable* variable = main_.Find(main_.block(0), name);
  if (variable == nullptr || variable->desc() == nullptr) {
    Fail(absl::InvalidArgumentError(absl::StrCat("no layer made \"", name, "\"")));
    return {};
  }
  if (variable->tensor() == nullptr) return {};
  const auto& dims = variable->tensor()->dims();
  return std::vector<int64_t>(dims.begin(), dims.end());
}

void ProgramBuilder::DeclareFed(const std::string& name, const std::vector<int64_t>& dims,
                                VarType::Type dtype) {
  VarDesc desc = MakeTensorVar(WithoutGradient(name), dtype, dims);
  desc.set_need_check_feed(true);
  Declare(main_.block(0), desc);
}

std::string ProgramBuilder::DeclareTemporary(std::string name, const std::vector<int64_t>& dims,
                                             VarType::Type dtype) {
  VarDesc desc = MakeTensorVar(name, dtype, dims);
  Declare(*block_, desc);
  return name;
}

std::string ProgramBuilder::WithoutGradient(std::string name) {
  if (is_without_gradient_.insert(name).second) no_gradient_.push_back(name);
  return name;
}

const Op* ProgramBuilder::Append(OpBuilder& op) {
  if (status_.ok()) CheckInputs(op.op());
  if (!status_.ok()) return nullptr;
  Complete(&op.op());
  DeclareOutputs(op.op());
  return status_.ok() ? &rewriter_->Append(*block_, op) : nullptr;
}

const Op* ProgramBuilder::Prepend(OpBuilder& op) {
  if (status_.ok()) CheckInputs(op.op());
  if (!status_.ok()) return nullptr;
  Complete(&op.op());
  DeclareOutputs(op.op());
  return status_.ok() ? &rewriter_->Prepend(*block_, op) : nullptr;
}

std::string ProgramBuilder::AppendWithOutput(OpBuilder& op, absl::string_view slot,
                                             const std::string& name) {
  op.Output(slot, name);
  return Append(op) == nullptr ? "" : name;
}

std::string ProgramBuilder::AppendConstant(float value, bool force_cpu) {
  OpBuilder op = New("fill_constant");
  op.LongsAttr("shape", {1})
      .IntAttr("dtype", VarType::FP32)
      .FloatAttr("value", value)
      .StringAttr("str_value", PythonText(value))
      .BoolAttr("force_cpu", force_cpu);
  const std::string name = absl::StrCat(UniqueName("fill_constant"), ".tmp_0");
  return AppendWithOutput(op, "Out", WithoutGradient(name));
}

void ProgramBuilder::AppendConditional(const std::string& condition,
                                       const std::vector<std::string>& inputs,
                                       const std::vector<std::string>& outputs,
                                       const std::function<void()>& write) {
  if (!status_.ok()) return;
  VarDesc scope;
  scope.set_name(UniqueName("_generated_var"));
  scope.mutable_type()->set_type(VarType::STEP_SCOPES);
  Declare(*block_, scope);
  const Block& run = rewriter_->AddBlock(*block_);
  OpBuilder op = New("conditional_block");
  op.Input("Cond", condition)
      .Input("Input", inputs)
      .Output("Out", outputs)
      .Output("Scope", scope.name())
      .BoolAttr("is_scalar_condition", true)
      .Attr(MakeBlockAttr("sub_block", run.index()));
  Append(op);
  const Block* outer = std::exchange(block_, &run);
  write();
  block_ = outer;
}

absl::Status ProgramBuilder::AllOrNothing(
    const std::function<absl::Status(ProgramBuilder&)>& build) {
  RETURN_IF_ERROR(status_);
  Program main = main_.Clone();
  Program startup = startup_.Clone();
  ProgramBuilder attempt(&main, &startup);
  for (const std::string& name : no_gradient_) attempt.WithoutGradient(name);
  attempt.SetRole(role_, role_var_);
  attempt.next_number_ = next_number_;
  RETURN_IF_ERROR(build(attempt));
  RETURN_IF_ERROR(attempt.status());
  main.ForgetEdits();
  startup.ForgetEdits();
  main_ = std::move(main);
  startup_ = std::move(startup);
  for (const std::string& name : attempt.no_gradient_) WithoutGradient(name);
  Begin();
  return absl::OkStatus();
}

void ProgramBuilder::AddPersistable(const Persistable& persistable) {
  if (!status_.ok()) return;
  const absl::StatusOr<int64_t> elements = ElementCount(persistable.dims);
  if (!elements.ok() || *elements < 1) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("\"", persistable.name, "\" would be ", DimsText(persistable.dims),
                     "; want sizes of 1 or more, and fewer than 2^63 elements")));
  }
  if (persistable.initializer.kind == Initializer::Kind::kTruncatedNormal &&
      std::any_of(persistable.dims.begin(), persistable.dims.end(),
                  [](int64_t dim) { return dim > std::numeric_limits<int32_t>::max(); })) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("\"", persistable.name, "\" would be ", DimsText(persistable.dims),
                     "; truncated_gaussian_random takes sizes below 2^31")));
  }
  VarDesc desc = MakeTensorVar(persistable.name, persistable.dtype, persistable.dims);
  desc.set_persistable(true);
  const Variable* there = main_.Find(main_.block(0), persistable.name);
  if (there != nullptr && there->desc() != nullptr) {
    if (HoldTheSame(*there->desc(), desc)) return;
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("block 0 declares \"", PrintVar(*there->desc()), "\" already; want \"",
                     PrintVar(desc), "\", or another name")));
  }
  if (persistable.stop_gradient) WithoutGradient(persistable.name);
  if (era_ == Era::kPaddle2) {
    desc.set_stop_gradient(persistable.stop_gradient);
    if (persistable.is_parameter) desc.set_is_parameter(true);
  }
  Declare(main_.block(0), desc);
  if (era_ == Era::kPaddle2 && !persistable.is_parameter) desc.set_stop_gradient(true);
  if (!startup_rewriter_->AddVariable(startup_.block(0), desc).ok()) {
    Fail(NameInUse(desc, "startup program"));
  }
  if (!status_.ok()) return;
  OpBuilder op = InitializerOp(persistable.initializer, persistable.dtype, persistable.dims, era_);
  op.Output("Out", persistable.name).IntAttr("op_role", kForward);
  CompleteAttrs(era_, &op.op());
  startup_rewriter_->Append(startup_.block(0), op.op());
}

}  // namespace fixpoint
