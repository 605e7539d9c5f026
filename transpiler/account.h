// The account: for every op with a quantizable slot, what was decided and why.

#ifndef FIXPOINT_TRANSPILER_ACCOUNT_H_
#define FIXPOINT_TRANSPILER_ACCOUNT_H_

#include <string>
#include <utility>
#include <vector>

#include "proto/quant_plan.pb.h"

namespace fixpoint {

struct AccountLine {
  std::string op_type;
  int total = 0;
  int quantized = 0;
  // How many stay float, by reason code, in the order of the codes.
  std::vector<std::pair<std::string, int>> kept;
};

struct Account {
  std::string target;
  bool is_inference = false;
  std::vector<AccountLine> lines;  // by op type
  int total = 0;
  int quantized = 0;
  int weight_quantizers = 0;
  int activation_quantizers = 0;
  int observers = 0;
};

Account MakeAccount(const QuantPlan& plan);

// A table: op type, total, quantized, what stays float and why.
std::string AccountTable(const Account& account);

// A line for each op, in program order: place, decision, reason, rule, detail.
std::string ExplainTable(const QuantPlan& plan);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_ACCOUNT_H_
