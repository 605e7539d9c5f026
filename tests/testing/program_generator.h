// Makes one random program, op by op; random_program.h says what comes out.

#ifndef FIXPOINT_TESTS_TESTING_PROGRAM_GENERATOR_H_
#define FIXPOINT_TESTS_TESTING_PROGRAM_GENERATOR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "proto/wire/program.pb.h"
#include "tests/testing/random_program.h"

namespace fixpoint {

class ProgramGenerator {
 public:
  ProgramGenerator(uint64_t seed, const RandomProgramOptions& options)
      : random_(seed), options_(options) {}

  ProgramDesc Make();

 private:
  // A variable that ops may read.
  struct Tensor {
    std::string name;
    std::vector<int64_t> dims;
    VarType::Type dtype = VarType::FP32;

    bool is_rows() const { return dims.size() == 2 && dims[1] > 0; }
    bool is_image() const { return dims.size() == 4; }
  };

  // What ops of a block can read: variables of the block and of those that it is in.
  struct Frame {
    int block = 0;
    int depth = 0;
    std::vector<Tensor> tensors;
    size_t outer_tensors = 0;  // the first ones: those of the blocks above
  };

  BlockDesc& block(const Frame& frame) { return *program_.mutable_blocks(frame.block); }
  std::string NewName(absl::string_view stem) { return absl::StrCat(stem, "_", ++names_[stem]); }
  VarDesc* Declare(int block, const std::string& name, VarType::Type dtype,
                   const std::vector<int64_t>& dims);
  const VarDesc* Find(int block, absl::string_view name) const;

  // Appends an op; what is not declared yet of its outputs is, with the inferred type. Gives its
  // first output.
  Tensor Append(Frame& frame, OpDesc op);
  // The same, and other ops may read its first output.
  void Add(Frame& frame, OpDesc op) { frame.tensors.push_back(Append(frame, std::move(op))); }
  // Notes what an op and its gradient read.
  void NoteReads(int block, const OpDesc& op, bool has_gradient);
  bool HasGradient(int block, const std::string& name) const;
  // Whether `tensor` may be written anew: no gradient op wants what it holds now.
  bool MayOverwrite(const Frame& frame, const Tensor& tensor) const;

  void AddOps(Frame& frame, int count);
  void AddOp(Frame& frame);
  void AddProduct(Frame& frame);
  void AddProductOfActivations(Frame& frame);
  void AddConvolution(Frame& frame);
  void AddPool(Frame& frame);
  void AddElementwise(Frame& frame);
  void AddActivation(Frame& frame);
  void AddConcat(Frame& frame);
  void AddCast(Frame& frame);
  void AddInPlace(Frame& frame);
  void AddSideBranch(Frame& frame);
  void AddLoop(Frame& frame);
  void AddConditional(Frame& frame);

  // A block below the frame's with random ops in it.
  Frame OpenBlock(const Frame& frame);
  // What the ops of a block, and of those below it, read (or write) and do not declare.
  std::vector<std::string> Captured(const Frame& inner, bool written) const;
  std::string Counter(Frame& frame, int value);
  std::string ScalarCondition(Frame& frame, const std::string& a, const std::string& b);

  // The tensors that `wanted` holds for; 32-bit floats alone.
  template <typename Wanted>
  std::vector<Tensor> Where(const Frame& frame, Wanted wanted) const {
    std::vector<Tensor> found;
    for (const Tensor& tensor : frame.tensors) {
      if (tensor.dtype == VarType::FP32 && wanted(tensor)) found.push_back(tensor);
    }
    return found;
  }
  // A parameter of those dimensions: one that is there already, or a new one.
  std::string Weight(const std::vector<int64_t>& dims, VarType::Type dtype = VarType::FP32);
  void AddLoss(Frame& frame);

  Random random_;
  const RandomProgramOptions options_;
  ProgramDesc program_;
  Era era_ = Era::kPaddle2;
  absl::flat_hash_map<std::string, int> names_;
  std::vector<Tensor> weights_;
  absl::flat_hash_set<std::string> read_;
  absl::flat_hash_set<std::string> read_by_gradients_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_PROGRAM_GENERATOR_H_
