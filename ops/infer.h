// Inference of dtypes and dimensions, one op at a time, from what its inputs' variables declare.
//
// What is unknown stays unknown and is no error: an input without a description, a rank that is not
// given, a dimension -1, an attribute whose value comes from a tensor.

#ifndef FIXPOINT_OPS_INFER_H_
#define FIXPOINT_OPS_INFER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/era.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

class OpSchema;

using DataType = VarType::Type;

// What is known about an input tensor.
struct TensorInfo {
  VarType::Type kind = VarType::LOD_TENSOR;
  std::optional<DataType> dtype;
  // Empty if the rank is unknown (or exceeds kMostDims), and for a scalar: the messages do not
  // distinguish them.
  DimsView dims;
  int lod_level = 0;

  bool has_dims() const { return !dims.empty(); }
  int rank() const { return static_cast<int>(dims.size()); }
};

// What a variable's description declares about its tensor; nothing for null.
TensorInfo TensorInfoOf(const VarDesc* variable);

// What is inferred about an output.
struct InferredOutput {
  std::optional<DataType> dtype;
  std::optional<Dims> dims;
  std::optional<VarType::Type> kind;  // if it is not that of the forward variable, or a tensor
};

// One op, its inputs, and the outputs to be inferred: what a schema's InferFunction works on.
class InferContext {
 public:
  // `inputs` are the descriptions of the input variables, in the order of the message (slot by
  // slot), null where nothing is known; outputs likewise. All must outlive the context.
  InferContext(const OpDesc& op, const OpSchema& schema, Era era,
               absl::Span<const VarDesc* const> inputs);

  const OpDesc& op() const { return *op_; }
  const OpSchema& schema() const { return *schema_; }
  Era era() const { return era_; }

  int InputCount(absl::string_view slot) const;
  int OutputCount(absl::string_view slot) const;
  bool HasInput(absl::string_view slot) const { return InputCount(slot) > 0; }
  // What is known about an argument; nothing if the slot has no such argument.
  TensorInfo Input(absl::string_view slot, int index = 0) const;

  // An attribute, or its default. If its value is unknown (it comes from a tensor, or is missing,
  // or of another kind), these return 0, "" or nothing, and the outputs become unknown.
  int64_t Int(absl::string_view name);
  double Float(absl::string_view name);
  bool Bool(absl::string_view name);
  std::string String(absl::string_view name);
  std::vector<int64_t> Ints(absl::string_view name);
  std::vector<double> Floats(absl::string_view name);

  // State what an output is: its dims, std::nullopt if they are unknown, or what an optional holds.
  // A slot or argument that the op does not name is ignored.
  void SetOutput(absl::string_view slot, int index, std::optional<DataType> dtype,
                 const Dims& dims);
  void SetOutput(absl::string_view slot, int index, std::optional<DataType> dtype, std::nullopt_t);
  template <typename SomeDims>
  void SetOutput(absl::string_view slot, std::optional<DataType> dtype, const SomeDims& dims) {
    SetOutput(slot, 0, dtype, dims);
  }
  void SetOutput(absl::string_view slot, std::optional<DataType> dtype,
                 const std::optional<Dims>& dims) {
    if (dims) {
      SetOutput(slot, 0, dtype, *dims);
    } else {
      SetOutput(slot, 0, dtype, std::nullopt);
    }
  }
  // The same as an input: dtype and dimensions, as far as they are known. For selected rows,
  // selected rows too.
  void SetOutputLike(absl::string_view slot, int index, const TensorInfo& tensor);
  void SetOutputLike(absl::string_view slot, const TensorInfo& tensor) {
    SetOutputLike(slot, 0, tensor);
  }

  void SetOutputKind(absl::string_view slot, VarType::Type kind);

  // Outputs in the order of the message.
  absl::Span<const InferredOutput> outputs() const { return outputs_; }

 private:
  friend absl::Status Infer(InferContext& context);

  // The position of a slot's arguments among all arguments.
  struct SlotRange {
    absl::string_view name;  // in the message; "": no such slot with arguments
    int first = 0;
    int count = 0;
  };

  const OpDesc::Attr* Attr(absl::string_view name);
  const SlotRange& InputRange(absl::string_view slot) const;
  const SlotRange& OutputRange(absl::string_view slot) const;
  template <typename T>
  T Known(std::optional<T> value);

  const OpDesc* op_;
  const OpSchema* schema_;
  Era era_;
  absl::Span<const VarDesc* const> inputs_;
  absl::InlinedVector<InferredOutput, 4> outputs_;
  // The slots that were looked up last: most are looked up more than once.
  mutable SlotRange last_input_;
  mutable SlotRange last_output_;
  bool attribute_unknown_ = false;
};

// Runs the schema's inference, if it has one. Error (kInvalidArgument): the inputs or attributes
// contradict each other or the op; the outputs are then unknown.
absl::Status Infer(InferContext& context);

// The same for an op that is not in a program yet. `find` returns a name's description, or null.
absl::StatusOr<std::vector<InferredOutput>> InferOutputs(
    const OpDesc& op, Era era, const std::function<const VarDesc*(absl::string_view)>& find);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_INFER_H_
