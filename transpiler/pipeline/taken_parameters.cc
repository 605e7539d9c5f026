#include "transpiler/pipeline/taken_parameters.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"

namespace fixpoint {

absl::StatusOr<Scope> TakeParameters(const Program& program, Scope& made, const Scope& given) {
  Scope taken;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    if (Scope::Value* value = made.FindOrNull(parameter.name); value != nullptr) {
      taken.Set(parameter.name, std::move(*value));
      continue;
    }
    const Scope::Value* value = given.FindOrNull(parameter.name);
    if (value == nullptr) {
      return absl::NotFoundError(absl::StrCat(
          program.name(), ": the parameters have no variable \"", parameter.name, "\""));
    }
    absl::StatusOr<Scope::Value> copy = Scope::CloneOf(*value);
    if (!copy.ok()) {
      return absl::Status(copy.status().code(),
                          absl::StrCat(program.name(), ": variable \"", parameter.name,
                                       "\": ", std::string(copy.status().message())));
    }
    taken.Set(parameter.name, *std::move(copy));
  }
  return taken;
}

}  // namespace fixpoint
