#include "tools/transpile_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/json.h"
#include "transpiler/report/account.h"

namespace fixpoint {

std::string ReportText(const TranspileReport& report) {
  std::string written;
  for (const std::string& output : {report.output, report.startup_output, report.params_output}) {
    if (!output.empty()) absl::StrAppend(&written, "wrote ", output, "\n");
  }
  if (!report.left_alone.empty()) {
    return absl::StrCat(report.program, ": left alone: ", report.left_alone, "\n", written);
  }
  std::string text;
  if (report.explain) absl::StrAppend(&text, ExplainTable(report.plan), "\n");
  const Account account = MakeAccount(report.plan);
  absl::StrAppend(&text, AccountTable(account), "quantizers: ", account.weight_quantizers,
                  " of weights, ", account.activation_quantizers, " of activations");
  if (account.bias_quantizers > 0) {
    absl::StrAppend(&text, ", ", account.bias_quantizers, " of biases");
  }
  if (account.gradient_quantizers > 0) {
    absl::StrAppend(&text, ", ", account.gradient_quantizers, " of gradients");
  }
  if (account.observers > 0) absl::StrAppend(&text, "; ", account.observers, " observers");
  if (!account.target.empty()) absl::StrAppend(&text, "; target ", account.target);
  absl::StrAppend(&text, "\n");
  if (!account.asked_in_vain.empty()) {
    absl::StrAppend(&text, "rules ask for what the target does not do: ",
                    absl::StrJoin(account.asked_in_vain, ", "), "\n");
  }
  absl::StrAppend(&text, OpsLeftOutText(report.left_out), written);
  return text;
}

std::string ReportJson(const TranspileReport& report) {
  const Account account = MakeAccount(report.plan);
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("program").String(report.program);
  json.Key("output").String(report.output);
  json.Key("startup_output").String(report.startup_output);
  json.Key("params_output").String(report.params_output);
  json.Key("left_alone").String(report.left_alone);
  json.Key("notes").BeginArray();
  for (const std::string& note : report.notes) json.String(note);
  json.EndArray();
  json.Key("target").String(account.target);
  json.Key("is_inference").Bool(account.is_inference);
  json.Key("weight_quantizers").Int(account.weight_quantizers);
  json.Key("activation_quantizers").Int(account.activation_quantizers);
  json.Key("bias_quantizers").Int(account.bias_quantizers);
  json.Key("gradient_quantizers").Int(account.gradient_quantizers);
  json.Key("observers").Int(account.observers);
  json.Key("op_types").BeginArray();
  for (const AccountLine& line : account.lines) {
    json.BeginObject();
    json.Key("type").String(line.op_type);
    json.Key("ops").Int(line.total);
    json.Key("quantized").Int(line.done);
    json.Key("float").BeginObject();
    for (const auto& [reason, count] : line.kept) json.Key(reason).Int(count);
    json.EndObject().EndObject();
  }
  json.EndArray();
  json.Key("left_out").BeginArray();
  for (const OpsLeftOut& type : report.left_out) {
    json.BeginObject();
    json.Key("type").String(type.op_type);
    json.Key("ops").Int(type.count);
    json.Key("has_weights").Bool(type.has_weights);
    json.EndObject();
  }
  json.EndArray();
  json.Key("ops").BeginArray();
  for (const QuantPlan::Decision& decision : report.plan.decisions()) {
    json.BeginObject();
    json.Key("block").Int(decision.block());
    json.Key("op").Int(decision.op());
    json.Key("type").String(decision.type());
    json.Key("output").String(decision.output());
    json.Key("quantized").Bool(decision.quantized());
    json.Key("reason").String(decision.reason());
    json.Key("rule").String(decision.rule());
    json.Key("detail").String(decision.detail());
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace fixpoint
