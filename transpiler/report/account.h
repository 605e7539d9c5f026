// The account: for every op with a quantizable slot, the decision and its reason. The same table
// reports other work on ops by type.

#ifndef FIXPOINT_TRANSPILER_REPORT_ACCOUNT_H_
#define FIXPOINT_TRANSPILER_REPORT_ACCOUNT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/config/quant_plan.pb.h"

namespace fixpoint {

struct AccountLine {
  std::string op_type;
  int total = 0;
  int done = 0;
  // How many are not done, by reason code.
  std::vector<std::pair<std::string, int>> kept;
};

struct Account {
  std::string target;
  bool is_inference = false;
  std::vector<AccountLine> lines;  // by op type; `done` counts quantized ops
  int total = 0;
  int quantized = 0;
  int weight_quantizers = 0;
  int activation_quantizers = 0;
  int bias_quantizers = 0;
  int gradient_quantizers = 0;
  int observers = 0;
  // What rules ask for and the target does not do, "2 pool2d (averages)": how many ops of a type
  // stay float although a rule has a spec for them.
  std::vector<std::string> asked_in_vain;
};

Account MakeAccount(const QuantPlan& plan);

// A table: op type, total, done, not done and why; then the totals. `done` and `kept` are titles:
// "quantized" and "float".
std::string AccountTable(absl::Span<const AccountLine> lines, absl::string_view done,
                         absl::string_view kept);
// The table of what is quantized and what stays float.
std::string AccountTable(const Account& account);

// A line for each op, in program order: place, decision, reason, rule, detail.
std::string ExplainTable(const QuantPlan& plan);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_ACCOUNT_H_
