#include "tools/quantize_json.h"

#include <algorithm>

#include "runtime/training/metric.h"
#include "tools/json.h"
#include "transpiler/report/account.h"
#include "transpiler/report/layers.h"

namespace fixpoint {
namespace {

void WriteSearch(const QuantizeCommand& command, const FoundPlan& found, JsonWriter& json) {
  json.Key("search").BeginObject();
  json.Key("bound_on")
      .String(!command.budget                            ? "drop"
              : command.budget->of == Budget::Of::kBytes ? "bytes"
                                                         : "ms");
  json.Key("bound").Double(command.budget ? command.budget->most : command.max_drop.value_or(0));
  json.Key("reached").Double(found.reached);
  json.Key("holds").Bool(found.holds);
  json.Key("measurements").Int(found.measurements);
  json.Key("layers").Int(found.layers);
  json.Key("kept").BeginArray();
  for (const RaisedLayer& layer : found.raised) {
    json.BeginObject();
    json.Key("output").String(layer.output);
    json.Key("at").String(layer.level);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void WriteMetric(const QuantizeCommand& command, const MeasuredDrop& measured, JsonWriter& json) {
  json.Key("metric").BeginObject();
  json.Key("name").String(command.metric);
  json.Key("unit").String(Metric::OfName(command.metric).unit());
  json.Key("samples").Int(measured.samples);
  json.Key("float").Double(measured.before.value);
  json.Key("integers").Double(measured.after.value);
  json.Key("drop").Double(measured.drop);
  if (measured.before.standard_error) {
    json.Key("standard_error").Double(*measured.before.standard_error);
  }
  json.EndObject();
}

void WriteCost(const char* form, const NetworkCost& cost, JsonWriter& json) {
  json.Key(form).BeginObject();
  json.Key("parameter_bytes").Int(cost.parameter_bytes);
  json.Key("activation_bytes").Int(cost.activation_bytes);
  if (cost.milliseconds) json.Key("expected_ms").Double(*cost.milliseconds);
  json.EndObject();
}

}  // namespace

std::string QuantizedJson(const QuantizeCommand& command, const QuantizedNetwork& network) {
  const Account account = MakeAccount(network.simulated.plan);
  const QuantizedOps ops = CountQuantizedOps(network.report);
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("program").String(command.from.program);
  json.Key("output").String(command.from.output);
  json.Key("target").String(account.target);
  json.Key("notes").BeginArray();
  for (const std::string& note : network.notes) json.String(note);
  json.EndArray();
  json.Key("ops").Int(account.total);
  json.Key("quantized_ops").Int(account.quantized);
  json.Key("ops_on_integers").Int(ops.done);
  json.Key("ops_in_float").Int(ops.decided - ops.done);
  json.Key("compared").BeginObject();
  json.Key("samples").Int(network.compared_samples);
  json.Key("elements").Int(network.agreement.elements);
  json.Key("ties").Int(network.agreement.ties);
  json.EndObject();
  json.Key("outputs").BeginArray();
  for (const ComparedVariable& variable : network.noise) {
    if (std::count(network.outputs.begin(), network.outputs.end(), variable.name) == 0) continue;
    json.BeginObject();
    json.Key("name").String(variable.name);
    json.Key("signal_to_noise_db").Double(variable.SignalToNoise());
    json.EndObject();
  }
  json.EndArray();
  if (network.found) WriteSearch(command, *network.found, json);
  if (network.measured) WriteMetric(command, *network.measured, json);
  WriteCost("float", network.float_cost, json);
  WriteCost("lowered", network.lowered_cost, json);
  json.EndObject();
  return json.Take();
}

}  // namespace fixpoint
