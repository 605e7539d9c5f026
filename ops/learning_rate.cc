#include "ops/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fixpoint {
namespace {

constexpr char kStepCounter[] = "@LR_DECAY_COUNTER@";

std::string Append(ProgramBuilder& builder, OpBuilder& op, absl::string_view base) {
  return builder.AppendWithOutput(op, "Out", absl::StrCat(builder.UniqueName(base), ".tmp_0"));
}
// Counts the steps, the first as `first`, at the beginning of the block; if they are already
// counted, nothing changes. Returns the count as a float.
std::string CountSteps(ProgramBuilder& builder, int first) {
  const bool is_counted = builder.FindInMain(kStepCounter) != nullptr;
  builder.AddPersistable({kStepCounter,
                          VarType::INT64,
                          {1},
                          Initializer::Constant(static_cast<float>(first - 1), /*force_cpu=*/true),
                          true});
  if (!is_counted) {
    OpBuilder increment = builder.New("increment");
    increment.Input("X", kStepCounter).Output("Out", kStepCounter).FloatAttr("step", 1);
    builder.Prepend(increment);
  }
  return Append(builder,
                builder.New("cast")
                    .Input("X", kStepCounter)
                    .IntAttr("in_dtype", VarType::INT64)
                    .IntAttr("out_dtype", VarType::FP32),
                "cast");
}

std::string AppendNoam(ProgramBuilder& builder, int model_width, int warmup_steps, float scale) {
  const std::string step = CountSteps(builder, 1);
  const std::string exponent = Append(builder,
                                      builder.New("fill_constant")
                                          .LongsAttr("shape", {1})
                                          .IntAttr("dtype", VarType::FP32)
                                          .FloatAttr("value", -0.5f),
                                      "fill_constant");
  const std::string falling =
      Append(builder, builder.New("elementwise_pow").Input("X", step).Input("Y", exponent), "tmp");
  const auto scaled = [&builder](const std::string& x, double by) {
    return Append(builder,
                  builder.New("scale").Input("X", x).FloatAttr("scale", static_cast<float>(by)),
                  "scale");
  };
  const std::string rising = scaled(step, std::pow(warmup_steps, -1.5));
  const std::string smaller =
      Append(builder, builder.New("elementwise_min").Input("X", falling).Input("Y", rising),
             "elementwise_min");
  return scaled(smaller, scale * std::pow(model_width, -0.5));
}

// A case of a switch: assigns `value` to the rate where `condition` holds.
void AssignIf(ProgramBuilder& builder, const std::string& condition, const std::string& value,
              const std::string& rate) {
  builder.AppendConditional(condition, {value}, {rate}, [&] {
    builder.Append(builder.New("assign").Input("X", value).Output("Out", rate));
  });
}

std::string AppendPiecewise(ProgramBuilder& builder, const std::vector<int64_t>& boundaries,
                            const std::vector<float>& values) {
  const std::string step = CountSteps(builder, 0);
  std::string rate = "learning_rate";
  builder.AddPersistable({rate, VarType::FP32, {1}, Initializer::Constant(0), false, true});
  const auto both = [&builder](const std::string& x, const std::string& y) {
    return Append(builder, builder.New("logical_and").Input("X", x).Input("Y", y), "logical_and");
  };
  std::string none_before;  // holds if no case before does
  for (size_t i = 0; i < boundaries.size(); ++i) {
    const std::string boundary =
        builder.AppendConstant(static_cast<float>(boundaries[i]), /*force_cpu=*/true);
    const std::string value = builder.AppendConstant(values[i]);
    std::string is_below =
        Append(builder, builder.New("less_than").Input("X", step).Input("Y", boundary), "tmp");
    const std::string is_not_below =
        Append(builder, builder.New("logical_not").Input("X", is_below), "logical_not");
    if (none_before.empty()) {
      none_before = is_not_below;
    } else {
      const std::string neither = both(none_before, is_not_below);
      is_below = both(none_before, is_below);
      none_before = neither;
    }
    AssignIf(builder, is_below, value, rate);
  }
  AssignIf(builder, none_before, builder.AppendConstant(values.back()), rate);
  return rate;
}

}  // namespace

LearningRate::LearningRate(float rate)
    : append_([rate](ProgramBuilder& builder) {
        std::string name = builder.UniqueName("learning_rate");
        builder.AddPersistable(
            {name, VarType::FP32, builder.ScalarDims(), Initializer::Constant(rate), false, true});
        return name;
      }) {}

LearningRate LearningRate::Noam(int model_width, int warmup_steps, float scale) {
  return LearningRate(Appender([=](ProgramBuilder& builder) {
    if (model_width <= 0 || warmup_steps <= 0) {
      builder.Fail(absl::InvalidArgumentError(absl::StrCat("Noam: the model's width is ",
                                                           model_width, ", warmup_steps ",
                                                           warmup_steps, "; want positive ones")));
      return std::string();
    }
    return AppendNoam(builder, model_width, warmup_steps, scale);
  }));
}

LearningRate LearningRate::Piecewise(std::vector<int64_t> boundaries, std::vector<float> values) {
  return LearningRate(Appender(
      [boundaries = std::move(boundaries), values = std::move(values)](ProgramBuilder& builder) {
        const bool ascend = std::adjacent_find(boundaries.begin(), boundaries.end(),
                                               std::greater_equal<>()) == boundaries.end();
        if (boundaries.empty() || values.size() != boundaries.size() + 1 || !ascend) {
          builder.Fail(absl::InvalidArgumentError(absl::StrCat(
              "Piecewise: boundaries [", absl::StrJoin(boundaries, ", "), "] and ", values.size(),
              " values; want boundaries that ascend, and one value more than boundaries")));
          return std::string();
        }
        return AppendPiecewise(builder, boundaries, values);
      }));
}

}  // namespace fixpoint
