// docs/models.md: what a transpile makes of every reference program, and what of it is computed on
// integers.

#ifndef FIXPOINT_TESTS_DOCS_MODELS_H_
#define FIXPOINT_TESTS_DOCS_MODELS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/docs/integer_shares.h"

namespace fixpoint {

struct ModelRow {
  std::string file;  // below models/
  int ops = 0;
  std::string quantized;  // "12 of 31", of the ops with a quantizable slot
  std::string kept;       // how many stay float, by reason; or why the program is left alone
  // The result verifies, keeps the invariants and is undone to the bytes it was made of.
  bool holds = false;
  double milliseconds = 0;  // to load, transpile and serialize it
};

// A row for each program, by the default target. Empty where there is no reference data.
std::vector<ModelRow> TranspileModels();

// The whole page. The columns of its first table end with the time.
std::string ModelsPage(const std::vector<ModelRow>& rows, const std::vector<IntegerShare>& shares);

// A page without what differs from run to run: the times, which end lines before the first heading
// of a section.
std::string WithoutTimes(absl::string_view page);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_DOCS_MODELS_H_
