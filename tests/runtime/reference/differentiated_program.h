// A few forward ops with their backward pass, for comparisons of gradients.

#ifndef FIXPOINT_TESTS_RUNTIME_REFERENCE_DIFFERENTIATED_PROGRAM_H_
#define FIXPOINT_TESTS_RUNTIME_REFERENCE_DIFFERENTIATED_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "runtime/scope.h"

namespace fixpoint::reference {

// The range that floating-point inputs are drawn from.
struct InputRange {
  double low = -2;
  double high = 2;
};

class DifferentiatedProgram {
 public:
  // `text` declares inputs and has ops that write `out`. Inputs that are persistable get a
  // gradient. The loss is the mean of out times coefficients. `inputs` holds what is not drawn, as
  // in parameter_text.h. `version` is that of the program's writer. REQUIRES: the text is right.
  DifferentiatedProgram(absl::string_view text, absl::string_view inputs, int64_t version,
                        InputRange range);

  const Program& program() const { return program_; }
  // A copy of all inputs. What was drawn is FP64.
  Scope Inputs() const;

  // The inputs with a gradient.
  const std::vector<std::string>& parameters() const { return parameters_; }
  int64_t SizeOf(const std::string& parameter) const;

  // The loss, where `shift` is added to element `i` of a parameter.
  double LossAt(const std::string& parameter, int64_t i, double shift) const;
  // The gradient that the backward pass computes.
  std::vector<double> GradientOf(const std::string& parameter) const;

 private:
  std::vector<double> Run(Scope scope, const std::string& fetch) const;

  Program program_;
  Scope inputs_;
  std::vector<std::string> parameters_;
};

}  // namespace fixpoint::reference

#endif  // FIXPOINT_TESTS_RUNTIME_REFERENCE_DIFFERENTIATED_PROGRAM_H_
