// Builds a program and its startup program as the reference's layers do: every op with all
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
#include "proto/program/op_builder.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"

namespace fixpoint {

// How a variable is initialised.
struct Initializer {
  enum class Kind { kConstant, kUniform, kNormal, kTruncatedNormal };
  Kind kind = Kind::kConstant;
  float value = 0;  // for kConstant
  bool force_cpu = false;
  float min = 0;  // for kUniform
  float max = 0;
  float mean = 0;  // for kNormal and kTruncatedNormal, which stays within 2 deviations
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

// A variable that is kept from step to step.
struct Persistable {
  std::string name;
  VarType::Type dtype = VarType::FP32;
  std::vector<int64_t> dims;
  Initializer initializer;
  bool is_parameter = false;  // 1.x stores neither of these
  bool stop_gradient = false;
};

// A program without ops, as a release of the reference starts one: EmptyProgram(2, 6, 2). Its era
// decides what layers and optimizers write. REQUIRES: 1.6 or later (before, files do not record
// their release: Program()), each number below 1000.
Program EmptyProgram(int major, int minor, int patch = 0);

class ProgramBuilder {
 public:
  // Builds in block 0 of `main` and in new blocks, and initialises in `startup`. Both outlive the
  // builder, which must be their only editor meanwhile. Error (status(), kInvalidArgument): they
  // are of different releases.
  ProgramBuilder(Program* main, Program* startup);

  Program& main() { return main_; }
  Program& startup() { return startup_; }
  // The variable of the main program's block 0 that has a name; null where there is none.
  const Variable* FindInMain(absl::string_view name) const;
  Era era() const { return era_; }
  // The dims of a single value: [1] before 2.5, [] since.
  std::vector<int64_t> ScalarDims() const;

  // The first error, kInvalidArgument unless a member says otherwise. Nothing is built after an
  // error, so it suffices to check once, at the end.
  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status) { status_.Update(std::move(status)); }

  // A name that the reference would give: "conv2d_0", then "conv2d_1". No declared variable's name
  // equals it, or begins with it and a dot.
  std::string UniqueName(absl::string_view base);

  // Ops that are appended from now on have this op_role, and this op_role_var.
  void SetRole(int role, std::vector<std::string> role_var = {});

  // The dims that a variable of block 0 is declared with, [] if they are unknown. Error
  // (kInvalidArgument): no such variable is declared.
  std::vector<int64_t> DimsOf(const std::string& name);

  // Declares an input. Error (kInvalidArgument), here and below: the name is in use.
  void DeclareFed(const std::string& name, const std::vector<int64_t>& dims, VarType::Type dtype);
  // Declares a tensor that inference cannot fully describe; returns its name.
  std::string DeclareTemporary(std::string name, const std::vector<int64_t>& dims,
                               VarType::Type dtype = VarType::FP32);
  // Declares that no gradient passes through a name; returns it. Later declarations record it, if
  // the era stores it.
  std::string WithoutGradient(std::string name);
  // All such names: what the backward pass has to be told about programs of 1.x, which do not store
  // it.
  const std::vector<std::string>& no_gradient() const { return no_gradient_; }

  // Begins an op for Append.
  OpBuilder New(absl::string_view type) { return rewriter_->New(type); }
  // Appends an op: adds the attributes that it lacks, and declares its outputs that no block
  // declares. Returns the op; null after an error (kInvalidArgument): its type is unknown, nothing
  // declares what it reads, or its inputs do not fit.
  const Op* Append(OpBuilder& op);
  // The same at the beginning of the block.
  const Op* Prepend(OpBuilder& op);
  // Appends an op whose `slot` holds a variable named `name`, which is returned; "" after an error.
  std::string AppendWithOutput(OpBuilder& op, absl::string_view slot, const std::string& name);

  // Appends a fill_constant of a new FP32 [1], which is returned.
  std::string AppendConstant(float value, bool force_cpu = false);

  // Appends a conditional_block that runs if `condition`, BOOL [1], holds. `write` appends its
  // contents, which read `inputs` and write `outputs` from outside.
  void AppendConditional(const std::string& condition, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs,
                         const std::function<void()>& write);

  // Builds all or nothing: `build` works on a builder of copies of both programs, which replace
  // them unless it fails. Returns its error, or this builder's own. Handles into the programs
  // become invalid. REQUIRES: not within AppendConditional.
  absl::Status AllOrNothing(const std::function<absl::Status(ProgramBuilder&)>& build);

  // Declares a variable in both programs, and initialises it. One that the program already declares
  // stays as it is. Errors (kInvalidArgument): that is not persistable or has another type or
  // shape; only the startup program declares it; a size is below 1, or there are more elements than
  // an int64 holds; for kTruncatedNormal, a size exceeds an int32.
  void AddPersistable(const Persistable& persistable);

 private:
  void Begin();
  void CheckInputs(const OpDesc& op);
  void Complete(OpDesc* op) const;
  void Declare(const Block& block, VarDesc& desc);
  // Keeps UniqueName from returning a name.
  void Avoid(absl::string_view name);
  void DeclareOutputs(const OpDesc& op);

  Program& main_;
  Program& startup_;
  const Block* block_ = nullptr;  // the block that ops are appended to
  const Era era_;
  std::optional<Rewriter> rewriter_;
  std::optional<Rewriter> startup_rewriter_;
  absl::Status status_;
  int role_;
  std::vector<std::string> role_var_;
  absl::flat_hash_map<std::string, int> next_number_;  // by the base of a name
  std::vector<std::string> no_gradient_;
  absl::flat_hash_set<std::string> is_without_gradient_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_PROGRAM_BUILDER_H_
