// Building a program and its startup program as the reference's layers do: every op with all
// attributes of its era, its outputs declared as they are inferred, and each persistable variable
// initialised in the startup program.

#ifndef FIXPOINT_OPS_PROGRAM_BUILDER_H_
#define FIXPOINT_OPS_PROGRAM_BUILDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "proto/op_builder.h"
#include "proto/program_fwd.h"
#include "proto/rewriter.h"

namespace fixpoint {

// How a variable starts.
struct Initializer {
  enum class Kind { kConstant, kUniform, kNormal, kTruncatedNormal };
  Kind kind = Kind::kConstant;
  float value = 0;  // of kConstant
  bool force_cpu = false;
  float min = 0;  // of kUniform
  float max = 0;
  float mean = 0;  // of kNormal and kTruncatedNormal, which takes no value 2 deviations away
  float stddev = 0;
  int seed = 0;  // 0: another at every run

  // force_cpu: in the host's memory, wherever the program runs.
  static Initializer Constant(float value, bool force_cpu = false) {
    Initializer constant;
    constant.value = value;
    constant.force_cpu = force_cpu;
    return constant;
  }
  static Initializer Uniform(float min, float max, int seed = 0) {
    Initializer uniform;
    uniform.kind = Kind::kUniform;
    uniform.min = min;
    uniform.max = max;
    uniform.seed = seed;
    return uniform;
  }
  static Initializer Normal(float mean, float stddev, int seed = 0) {
    Initializer normal;
    normal.kind = Kind::kNormal;
    normal.mean = mean;
    normal.stddev = stddev;
    normal.seed = seed;
    return normal;
  }
  static Initializer TruncatedNormal(float mean, float stddev, int seed = 0) {
    Initializer normal = Normal(mean, stddev, seed);
    normal.kind = Kind::kTruncatedNormal;
    return normal;
  }
};

// A variable that lives from step to step.
struct Persistable {
  std::string name;
  VarType::Type dtype = VarType::FP32;
  std::vector<int64_t> dims;
  Initializer initializer;
  bool is_parameter = false;  // both of which 1.x does not store
  bool stop_gradient = false;
};

// A program without ops, as a release of the reference begins one: EmptyProgram(2, 6, 2). Its era
// decides what layers and optimizers write. REQUIRES: 1.6 or later (before, files do not say their
// release: Program()), each number below 1000.
Program EmptyProgram(int major, int minor, int patch = 0);

class ProgramBuilder {
 public:
  // Builds in block 0 of `main` and in new blocks, and initialises in `startup`. Both outlive the
  // builder, which is the only one that edits them meanwhile. Error (status(), kInvalidArgument):
  // they are of different releases.
  ProgramBuilder(Program* main, Program* startup);

  Program& main() { return main_; }
  Program& startup() { return startup_; }
  Era era() const { return era_; }
  // The dims of what is one number: [1] before 2.5, [] since.
  std::vector<int64_t> ScalarDims() const;

  // What went wrong first, kInvalidArgument unless a member says more. Nothing is built after an
  // error: who builds asks once, at the end.
  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status) { status_.Update(std::move(status)); }

  // A name that the reference would give: "conv2d_0", then "conv2d_1". No declared variable's name
  // is it, or begins with it and a dot.
  std::string UniqueName(absl::string_view base);

  // Ops that are appended from now on have this op_role, and this op_role_var.
  void SetRole(int role, std::vector<std::string> role_var = {});

  // What a variable of block 0 is declared with, [] where that is not known. Error
  // (kInvalidArgument): no such variable is declared.
  std::vector<int64_t> DimsOf(const std::string& name);

  // Declares what is fed. Error (kInvalidArgument), here and below: the name is in use.
  void DeclareFed(const std::string& name, const std::vector<int64_t>& dims, VarType::Type dtype);
  // Declares a tensor that inference cannot say all of; gives its name back.
  std::string DeclareTemporary(std::string name, const std::vector<int64_t>& dims,
                               VarType::Type dtype = VarType::FP32);
  // Says that nothing has a gradient through a name; gives it back. What is declared after that is
  // declared so, where the era stores it.
  std::string WithoutGradient(std::string name);
  // All such names: what the backward pass has to be told of programs of 1.x, which do not store
  // it.
  const std::vector<std::string>& no_gradient() const { return no_gradient_; }

  // Begins an op for Append.
  OpBuilder New(absl::string_view type) { return rewriter_->New(type); }
  // Appends an op: adds the attributes that it has not, and declares what it writes and no block
  // declares. Gives the op; null after an error (kInvalidArgument): its type is not known, nothing
  // declares what it reads, or its inputs do not fit.
  const Op* Append(OpBuilder& op);
  // The same at the beginning of the block.
  const Op* Prepend(OpBuilder& op);
  // Appends an op whose `slot` holds a variable named `name`, which is given back; "" after an
  // error.
  std::string AppendWithOutput(OpBuilder& op, absl::string_view slot, const std::string& name);

  // Appends a fill_constant of a new FP32 [1], which is given back.
  std::string AppendConstant(float value, bool force_cpu = false);

  // Appends a conditional_block that runs where `condition`, BOOL [1], holds. `write` appends what
  // is in it, which reads `inputs` and writes `outputs` from outside.
  void AppendConditional(const std::string& condition, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs,
                         const std::function<void()>& write);

  // Builds all of something or nothing: `build` works on a builder of copies of both programs,
  // which take their place unless it fails. Gives its error, or this builder's own. Handles into
  // the programs end. REQUIRES: not within AppendConditional.
  absl::Status AllOrNothing(const std::function<absl::Status(ProgramBuilder&)>& build);

  // Declares a variable in both programs, and initialises it. One that the program declares already
  // stays as it is. Errors (kInvalidArgument): that is not persistable or of another type or shape;
  // the startup program alone declares it; a size below 1, or more elements than an int64 holds;
  // of kTruncatedNormal, a size that no int32 holds.
  void AddPersistable(const Persistable& persistable);

 private:
  void Begin();
  void CheckInputs(const OpDesc& op);
  void Complete(OpDesc* op) const;
  void Declare(const Block& block, VarDesc& desc);
  // Keeps UniqueName from giving a name.
  void Avoid(absl::string_view name);
  void DeclareOutputs(const OpDesc& op);

  Program& main_;
  Program& startup_;
  const Block* block_ = nullptr;  // that ops are appended to
  const Era era_;
  std::optional<Rewriter> rewriter_;
  std::optional<Rewriter> startup_rewriter_;
  absl::Status status_;
  int role_ = kForward;
  std::vector<std::string> role_var_;
  absl::flat_hash_map<std::string, int> next_number_;  // by the base of a name
  std::vector<std::string> no_gradient_;
  absl::flat_hash_set<std::string> is_without_gradient_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_PROGRAM_BUILDER_H_
