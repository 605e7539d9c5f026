#include "transpiler/freeze/folded_batch_norm.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/plan/folded_weights.h"

namespace fixpoint {
namespace {

absl::Status CheckSlots(const Op& norm) {
  for (const char* slot : {"X", "Deviation", "Scale", "Bias", "Mean"}) {
    const Argument* const input = norm.Input(slot);
    if (input != nullptr && input->value() != nullptr && input->variable()->tensor() != nullptr) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(norm), ": wants one declared tensor in input ", slot));
  }
  if (norm.Output("Y") == nullptr || norm.Output("Y")->value() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(norm), ": wants one variable in output Y"));
  }
  for (const char* slot : {"SavedMean", "SavedVariance"}) {
    const Argument* const output = norm.Output(slot);
    if (output == nullptr || output->value() == nullptr || IsUnread(*output->value())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(norm), ": \"", std::string(output->name()), "\" is read by ",
                     DescribeInFile(output->value()->readers()[0]->op()),
                     "; want statistics of a batch read by ops that train alone"));
  }
  return absl::OkStatus();
}

class TestModeOfNorm {
 public:
  TestModeOfNorm(const Op& norm, absl::string_view pass, Program* program)
      : norm_(norm), pass_(pass), rewriter_(program, pass) {}

  absl::Status Write(int channel_axis) {
    const std::string scale(norm_.Input("Scale")->name());
    const std::string mean(norm_.Input("Mean")->name());
    const std::string bias(norm_.Input("Bias")->name());
    ASSIGN_OR_RETURN(const std::string factor, Declare(scale, ".factor"));
    ASSIGN_OR_RETURN(const std::string scaled, Declare(mean, ".scaled"));
    ASSIGN_OR_RETURN(const std::string folded, Declare(bias, ".folded"));
    Insert("elementwise_div", scale, norm_.Input("Deviation")->name(), factor, -1);
    Insert("elementwise_mul", mean, factor, scaled, -1);
    Insert("elementwise_sub", bias, scaled, folded, -1);
    Insert("elementwise_add", norm_.Input("X")->name(), folded, norm_.Output("Y")->name(),
           channel_axis);
    std::vector<const Op*> for_statistics;
    const Argument* at = norm_.Input("Unfolded");
    while (at != nullptr && at->value() != nullptr && at->value()->written_by() != nullptr &&
           at->value()->readers().size() == 1 && IsForStatistics(*at->value()->op())) {
      const Op& op = *at->value()->op();
      for_statistics.push_back(&op);
      const std::optional<SumTrait>& sum = TraitsOf(op).sum;
      at = sum ? op.Input(sum->x) : nullptr;
    }
    rewriter_.Remove(norm_);
    for (const Op* op : for_statistics) rewriter_.Remove(*op);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::string> Declare(const std::string& like, absl::string_view suffix) {
    const std::string name = rewriter_.FreshName(absl::StrCat(like, suffix));
    const VarType& type = norm_.Input("Scale")->variable()->desc()->type();
    RETURN_IF_ERROR(rewriter_.AddVariable(norm_.block(), name, type).status());
    return name;
  }

  void Insert(absl::string_view type, absl::string_view x, absl::string_view y,
              absl::string_view out, int axis) {
    rewriter_.InsertBefore(norm_, OpBuilder(type)
                                      .Input("X", x)
                                      .Input("Y", y)
                                      .Output("Out", out)
                                      .IntAttr("axis", axis)
                                      .IntAttr("op_role", norm_.role())
                                      .StringAttr(kInsertedByAttr, pass_)
                                      .Build());
  }

  const Op& norm_;
  const absl::string_view pass_;
  Rewriter rewriter_;
};

}  // namespace

absl::Status PutInTestMode(const Op& folded_batch_norm, absl::string_view pass, Program* program) {
  RETURN_IF_ERROR(CheckSlots(folded_batch_norm));
  const std::optional<OpAttributes> attributes =
      OpAttributes::Of(folded_batch_norm.desc(), EraOf(*program));
  const int rank = folded_batch_norm.Input("X")->variable()->tensor()->dims_size();
  if (!attributes || rank == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(folded_batch_norm),
                     ": wants attributes of its types, and an X with declared dimensions"));
  }
  const bool channels_last = IsChannelsLast(attributes->String("data_layout"));
  return TestModeOfNorm(folded_batch_norm, pass, program)
      .Write(rank == 1       ? 0
             : channels_last ? rank - 1
                             : 1);
}

}  // namespace fixpoint
