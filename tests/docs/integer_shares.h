// What of an inference program is computed on integers once it is prepared, quantized, frozen and
// lowered: a table of docs/models.md.

#ifndef FIXPOINT_TESTS_DOCS_INTEGER_SHARES_H_
#define FIXPOINT_TESTS_DOCS_INTEGER_SHARES_H_

#include <string>
#include <vector>

namespace fixpoint {

struct IntegerShare {
  std::string file;  // below models/
  // Of the ops between the first and the last product, both included, apart from those that
  // quantize and dequantize.
  int ops = 0;
  int integers = 0;
  std::string floats;      // how many of each type stay float, by reason
  std::string not_run;     // the op types that no backend runs; "" for none
  std::string left_alone;  // why there are no figures; "" if there are
};

// A row for each float program for inference that has a product, by the target onednn_int8, with
// everything that it computes on request. Parameters are made up. Empty where there is no reference
// data.
std::vector<IntegerShare> MeasureIntegerShares();

// The section of the page.
std::string IntegerSharesSection(const std::vector<IntegerShare>& shares);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_DOCS_INTEGER_SHARES_H_
