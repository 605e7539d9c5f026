#include "transpiler/quantize/form_comparison.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/op_by_op.h"

namespace fixpoint {
namespace {

// Compares one form with another. With `op_by_op`, each op of the form is given what the other one
// computed.
absl::StatusOr<Comparison> CompareTwo(const ComparedForm& form, const ComparedForm& other,
                                      bool op_by_op, absl::Span<const Feed> feeds,
                                      const BackendOptions& options) {
  std::optional<OpByOpProgram> given;
  if (op_by_op) given = MakeOpByOp(*form.program, *other.program);
  const Program& program = given ? given->program : *form.program;
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                   MakeBackend(kDefaultBackend, program, form.parameters, options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> other_backend,
                   MakeBackend(kDefaultBackend, *other.program, other.parameters, options));
  ASSIGN_OR_RETURN(
      Comparison comparison,
      Comparison::Create({&program, backend.get(), form.parameters, /*in_one_run=*/false,
                          given ? given->given : std::vector<GivenTensor>()},
                         {other.program, other_backend.get(), other.parameters}));
  RETURN_IF_ERROR(comparison.Run(feeds));
  return comparison;
}

// Error (kInternal): elements differ, other than ties.
absl::Status CheckAgrees(const Comparison& comparison, absl::string_view form,
                         absl::string_view other) {
  if (comparison.different() == comparison.ties()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "the ", form, " program does not compute what the ", other,
      " one does: ", comparison.different() - comparison.ties(), " of ", comparison.elements(),
      " elements differ, the first in \"", comparison.FirstThatDiffers()->name, "\""));
}

}  // namespace

absl::StatusOr<std::vector<ComparedVariable>> CompareWithFloat(const ComparedForm& quantized,
                                                               const ComparedForm& floats,
                                                               absl::Span<const Feed> feeds,
                                                               const BackendOptions& options) {
  ASSIGN_OR_RETURN(const Comparison noise,
                   CompareTwo(quantized, floats, /*op_by_op=*/false, feeds, options));
  return noise.variables();
}

absl::StatusOr<FormAgreement> CheckFormsAgree(const ComparedForms& forms,
                                              absl::Span<const Feed> feeds,
                                              const BackendOptions& options) {
  ASSIGN_OR_RETURN(const Comparison simulation,
                   CompareTwo(forms.portable, forms.simulated, /*op_by_op=*/false, feeds, options));
  RETURN_IF_ERROR(CheckAgrees(simulation, "portable", "simulated"));
  ASSIGN_OR_RETURN(const Comparison integers,
                   CompareTwo(forms.lowered, forms.portable, forms.has_ties, feeds, options));
  RETURN_IF_ERROR(CheckAgrees(integers, "lowered", "portable"));
  return FormAgreement{simulation.elements() + integers.elements(), integers.ties()};
}

}  // namespace fixpoint
