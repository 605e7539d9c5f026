// Optimizers, in place where the program updates its variables in place.

#include "runtime/kernels/optimizers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/selected_rows.h"

namespace fixpoint::executor {
namespace {

// The inputs that every optimizer op reads.
struct Update {
  Buffer gradient;
  Buffer rate;
  Buffer parameter;
};

absl::Status CheckUpdate(const OpPlanner& op) {
  if (op.attributes().Bool("multi_precision")) {
    return absl::UnimplementedError("multi_precision is true; want parameters of one precision");
  }
  RETURN_IF_ERROR(op.CheckSize("LearningRate", 1));
  return op.CheckSize("Grad", op.InputType("Param").size());
}

absl::StatusOr<Update> Begin(OpPlanner& op) {
  RETURN_IF_ERROR(CheckUpdate(op));
  Update update;
  ASSIGN_OR_RETURN(update.gradient, op.ReadFloats("Grad"));
  ASSIGN_OR_RETURN(update.rate, op.ReadFloats("LearningRate"));
  ASSIGN_OR_RETURN(update.parameter, op.ReadFloats("Param"));
  return update;
}

// A variable that the op reads in one slot and writes in another.
struct State {
  Buffer before;
  Buffer after;

  // The buffer after the step, with the value before the step in it.
  absl::Span<float> Next(const StepContext& run) const {
    const absl::Span<float> next = run.Floats(after);
    const absl::Span<float> read = run.Floats(before);
    if (next.data() != read.data()) {
      std::copy(read.begin(), read.end(), next.begin());
    }
    return next;
  }
};
absl::StatusOr<State> ReadState(OpPlanner& op, absl::string_view in, absl::string_view out,
                                int64_t size) {
  RETURN_IF_ERROR(op.CheckSize(in, size));
  State state;
  ASSIGN_OR_RETURN(state.before, op.ReadFloats(in));
  state.after = op.WriteOver(out, op.InputType(in), Layout::kRowMajor, state.before);
  return state;
}

// An update by selected rows of the gradient, which touches no others.
struct RowsUpdate {
  TableRows gradient;
  Buffer rate;
  State parameter;

  std::vector<Buffer> Reads(std::vector<Buffer> others = {}) const {
    others.insert(others.end(), {rate, parameter.before});
    for (const Buffer& buffer : gradient.buffers()) others.push_back(buffer);
    return others;
  }
};

absl::StatusOr<RowsUpdate> BeginRows(OpPlanner& op, const TableRows& gradient) {
  RETURN_IF_ERROR(CheckUpdate(op));
  RETURN_IF_ERROR(op.CheckDims("Grad", op.InputDims("Param")));
  RowsUpdate update{gradient, {}, {}};
  ASSIGN_OR_RETURN(update.rate, op.ReadFloats("LearningRate"));
  ASSIGN_OR_RETURN(update.parameter,
                   ReadState(op, "Param", "ParamOut", op.InputType("Param").size()));
  return update;
}

absl::Status PlanSgdOfRows(OpPlanner& op, const TableRows& gradient) {
  ASSIGN_OR_RETURN(const RowsUpdate u, BeginRows(op, gradient));
  op.AddStep({u.Reads(),
              {u.parameter.after},
              [=](const StepContext& run) {
                kernels::SgdOfRows(u.gradient.In(run), run.Floats(u.rate)[0],
                                   u.parameter.Next(run));
                return absl::OkStatus();
              },
              "",
              0,
              "sgd of rows"});
  return absl::OkStatus();
}

absl::Status PlanSgd(OpPlanner& op) {
  if (const auto rows = FindRows(op, "Grad")) return PlanSgdOfRows(op, *rows);
  ASSIGN_OR_RETURN(const Update u, Begin(op));
  ASSIGN_OR_RETURN(const State p, ReadState(op, "Param", "ParamOut", u.parameter.size));
  op.AddStep({{u.gradient, u.rate, p.before}, {p.after}, [=](const StepContext& run) {
                kernels::Sgd(run.Floats(u.gradient), run.Floats(u.rate)[0], p.Next(run));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanMomentum(OpPlanner& op) {
  const std::string regularization = op.attributes().String("regularization_method");
  if (!regularization.empty() && regularization != "l2_decay") {
    return absl::InvalidArgumentError(absl::StrCat("regularization_method is \"", regularization,
                                                   "\"; want \"\" or \"l2_decay\""));
  }
  kernels::MomentumRule rule;
  rule.mu = op.Number("mu");
  rule.nesterov = op.attributes().Bool("use_nesterov");
  rule.l2_decay = regularization.empty() ? 0 : op.Number("regularization_coeff");
  rule.rescale = op.Number("rescale_grad");
  ASSIGN_OR_RETURN(const Update u, Begin(op));
  ASSIGN_OR_RETURN(const State p, ReadState(op, "Param", "ParamOut", u.parameter.size));
  ASSIGN_OR_RETURN(const State v, ReadState(op, "Velocity", "VelocityOut", u.parameter.size));
  op.AddStep(
      {{u.gradient, u.rate, p.before, v.before}, {p.after, v.after}, [=](const StepContext& run) {
         kernels::Momentum(rule, run.Floats(u.gradient), run.Floats(u.rate)[0], p.Next(run),
                           v.Next(run));
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

// What the adam family reads and writes besides the parameter.
struct Moments {
  State first;
  State second;
  State beta1_power;
  State beta2_power;
  float beta1;
  float beta2;
  // Whether the powers are multiplied before they are used, as the reference does where the
  // gradient is selected rows and the powers are updated in place.
  bool uses_next_powers = false;

  std::vector<Buffer> Reads(const Update& u) const {
    std::vector<Buffer> all = States();
    all.insert(all.end(), {u.gradient, u.rate, u.parameter});
    return all;
  }
  std::vector<Buffer> States() const {
    return {first.before, second.before, beta1_power.before, beta2_power.before};
  }
  std::vector<Buffer> Writes(const State& parameter) const {
    return {parameter.after, first.after, second.after, beta1_power.after, beta2_power.after};
  }
  kernels::Moments In(const StepContext& run) const {
    const float first_factor = uses_next_powers ? beta1 : 1;
    const float second_factor = uses_next_powers ? beta2 : 1;
    return {beta1,
            beta2,
            run.Floats(beta1_power.before)[0] * first_factor,
            run.Floats(beta2_power.before)[0] * second_factor,
            first.Next(run),
            second.Next(run)};
  }
  // Multiplies the powers for the next step.
  void Advance(const StepContext& run) const {
    beta1_power.Next(run)[0] *= beta1;
    beta2_power.Next(run)[0] *= beta2;
  }
};

absl::StatusOr<Moments> ReadMoments(OpPlanner& op, int64_t size) {
  for (const char* slot : {"SkipUpdate", "Beta1Tensor", "Beta2Tensor", "EpsilonTensor"}) {
    RETURN_IF_ERROR(op.CheckAbsent(slot));
  }
  Moments m;
  ASSIGN_OR_RETURN(m.first, ReadState(op, "Moment1", "Moment1Out", size));
  ASSIGN_OR_RETURN(m.second, ReadState(op, "Moment2", "Moment2Out", size));
  ASSIGN_OR_RETURN(m.beta1_power, ReadState(op, "Beta1Pow", "Beta1PowOut", 1));
  ASSIGN_OR_RETURN(m.beta2_power, ReadState(op, "Beta2Pow", "Beta2PowOut", 1));
  m.beta1 = op.Number("beta1");
  m.beta2 = op.Number("beta2");
  return m;
}

// REQUIRES: the gradient is held as rows.
bool UsesNextPowers(const OpPlanner& op) {
  const Argument* const before = op.op().Input("Beta1Pow");
  const Argument* const after = op.op().Output("Beta1PowOut");
  return before != nullptr && after != nullptr && before->name() == after->name();
}

kernels::AdamRule AdamRuleOf(const OpPlanner& op, float decay) {
  kernels::AdamRule rule;
  rule.epsilon = op.Number("epsilon");
  rule.corrects_before_epsilon = op.era() == Era::kPaddle2;
  rule.decay = decay;
  return rule;
}

// lazy_mode: only the rows of the gradient are updated. All are decayed, as the reference does.
absl::Status PlanLazyAdam(OpPlanner& op, const TableRows& gradient, float decay) {
  ASSIGN_OR_RETURN(const RowsUpdate u, BeginRows(op, Merged(op, "Grad", gradient)));
  ASSIGN_OR_RETURN(Moments m, ReadMoments(op, u.parameter.before.size));
  m.uses_next_powers = UsesNextPowers(op);
  const kernels::AdamRule rule = AdamRuleOf(op, /*decay=*/0);
  op.AddStep({u.Reads(m.States()), m.Writes(u.parameter),
              [=](const StepContext& run) {
                const float rate = run.Floats(u.rate)[0];
                const absl::Span<float> parameter = u.parameter.Next(run);
                if (decay != 0) {
                  for (float& element : parameter) element -= rate * decay * element;
                }
                kernels::AdamOfRows(rule, u.gradient.In(run), rate, parameter, m.In(run));
                m.Advance(run);
                return absl::OkStatus();
              },
              "", 0, absl::StrCat(op.type(), " of rows")});
  return absl::OkStatus();
}

// adam, and adamw, which decays the parameter besides the gradient. Without lazy_mode the moments
// of all rows decay, so that a sparse gradient is read as a whole.
absl::Status PlanAdamStep(OpPlanner& op, float decay) {
  const auto rows = FindRows(op, "Grad");
  if (rows && op.attributes().Bool("lazy_mode")) return PlanLazyAdam(op, *rows, decay);
  ASSIGN_OR_RETURN(const Update u, Begin(op));
  ASSIGN_OR_RETURN(Moments m, ReadMoments(op, u.parameter.size));
  m.uses_next_powers = rows.has_value() && UsesNextPowers(op);
  ASSIGN_OR_RETURN(const State p, ReadState(op, "Param", "ParamOut", u.parameter.size));
  const kernels::AdamRule rule = AdamRuleOf(op, decay);
  op.AddStep({m.Reads(u), m.Writes(p), [=](const StepContext& run) {
                kernels::Adam(rule, run.Floats(u.gradient), run.Floats(u.rate)[0], p.Next(run),
                              m.In(run));
                m.Advance(run);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanAdam(OpPlanner& op) { return PlanAdamStep(op, 0); }

absl::Status PlanAdamW(OpPlanner& op) {
  if (op.attributes().Float("lr_ratio") != 1) {
    return absl::UnimplementedError(absl::StrCat("lr_ratio is ", op.attributes().Float("lr_ratio"),
                                                 "; want 1, one rate for all layers"));
  }
  return PlanAdamStep(op, op.attributes().Bool("with_decay") ? op.Number("coeff") : 0);
}

// Since 2.6, which has the attribute always_adapt, a step is not as long as the parameter where
// weight_decay is 0 and the attribute is false.
bool Adapts(const OpPlanner& op) {
  return !op.attributes().IsGiven("always_adapt") || op.attributes().Bool("always_adapt") ||
         op.Number("weight_decay") > 0;
}

absl::Status PlanLamb(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Update u, Begin(op));
  ASSIGN_OR_RETURN(const Moments m, ReadMoments(op, u.parameter.size));
  ASSIGN_OR_RETURN(const State p, ReadState(op, "Param", "ParamOut", u.parameter.size));
  kernels::LambRule rule;
  rule.epsilon = op.Number("epsilon");
  rule.decay = op.Number("weight_decay");
  rule.corrects_moments = op.era() == Era::kPaddle2;
  rule.adapts = Adapts(op);
  op.AddStep({m.Reads(u), m.Writes(p), [=](const StepContext& run) {
                kernels::Lamb(rule, run.Floats(u.gradient), run.Floats(u.rate)[0], p.Next(run),
                              m.In(run));
                m.Advance(run);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanAdagradOfRows(OpPlanner& op, const TableRows& gradient) {
  ASSIGN_OR_RETURN(const RowsUpdate u, BeginRows(op, Merged(op, "Grad", gradient)));
  ASSIGN_OR_RETURN(const State m, ReadState(op, "Moment", "MomentOut", u.parameter.before.size));
  const float epsilon = op.Number("epsilon");
  op.AddStep({u.Reads({m.before}),
              {u.parameter.after, m.after},
              [=](const StepContext& run) {
                kernels::AdagradOfRows(epsilon, u.gradient.In(run), run.Floats(u.rate)[0],
                                       u.parameter.Next(run), m.Next(run));
                return absl::OkStatus();
              },
              "",
              0,
              "adagrad of rows"});
  return absl::OkStatus();
}

absl::Status PlanAdagrad(OpPlanner& op) {
  if (const auto rows = FindRows(op, "Grad")) return PlanAdagradOfRows(op, *rows);
  ASSIGN_OR_RETURN(const Update u, Begin(op));
  ASSIGN_OR_RETURN(const State p, ReadState(op, "Param", "ParamOut", u.parameter.size));
  ASSIGN_OR_RETURN(const State m, ReadState(op, "Moment", "MomentOut", u.parameter.size));
  const float epsilon = op.Number("epsilon");
  op.AddStep(
      {{u.gradient, u.rate, p.before, m.before}, {p.after, m.after}, [=](const StepContext& run) {
         kernels::Adagrad(epsilon, run.Floats(u.gradient), run.Floats(u.rate)[0], p.Next(run),
                          m.Next(run));
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

// MeanGrad is followed only where centered.
absl::Status PlanRmsProp(OpPlanner& op) {
  kernels::RmsPropRule rule;
  rule.decay = op.Number("decay");
  rule.epsilon = op.Number("epsilon");
  rule.momentum = op.Number("momentum");
  const bool centered = op.attributes().Bool("centered");
  ASSIGN_OR_RETURN(const Update u, Begin(op));
  const int64_t size = u.parameter.size;
  ASSIGN_OR_RETURN(const State p, ReadState(op, "Param", "ParamOut", size));
  ASSIGN_OR_RETURN(const State s, ReadState(op, "MeanSquare", "MeanSquareOut", size));
  ASSIGN_OR_RETURN(const State v, ReadState(op, "Moment", "MomentOut", size));
  State mean;
  std::vector<Buffer> reads = {u.gradient, u.rate, p.before, s.before, v.before};
  std::vector<Buffer> writes = {p.after, s.after, v.after};
  if (centered || (op.HasInput("MeanGrad") && op.Wants("MeanGradOut"))) {
    ASSIGN_OR_RETURN(mean, ReadState(op, "MeanGrad", "MeanGradOut", size));
    reads.push_back(mean.before);
    writes.push_back(mean.after);
  }
  op.AddStep({reads, writes, [=](const StepContext& run) {
                const absl::Span<float> means =
                    mean.after.index >= 0 ? mean.Next(run) : absl::Span<float>();
                kernels::RmsProp(rule, run.Floats(u.gradient), run.Floats(u.rate)[0], p.Next(run),
                                 s.Next(run), v.Next(run), centered ? means : absl::Span<float>());
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans OptimizersPlans() {
  return {{"sgd", PlanSgd},        {"momentum", PlanMomentum}, {"adam", PlanAdam},
          {"adamw", PlanAdamW},    {"lamb", PlanLamb},         {"adagrad", PlanAdagrad},
          {"rmsprop", PlanRmsProp}};
}

}  // namespace fixpoint::executor
