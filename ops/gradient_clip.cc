#include "ops/gradient_clip.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/selected_rows.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

std::string Temporary(ProgramBuilder& builder, absl::string_view base) {
  return absl::StrCat(builder.UniqueName(base), ".tmp_0");
}

void ClipEach(const GradientClip& clip, ProgramBuilder& builder,
              std::vector<ParameterGradient>& parameters) {
  const bool by_value = clip.kind == GradientClip::Kind::kByValue;
  const char* const type = by_value ? "clip" : "clip_by_norm";
  for (auto& [parameter, gradient] : parameters) {
    const std::string clipped = Temporary(builder, type);
    builder.SetRole(kOptimize, {parameter, clipped});
    OpBuilder op = builder.New(type);
    op.Input("X", gradient).Output("Out", clipped);
    if (by_value) {
      op.FloatAttr("min", clip.min).FloatAttr("max", clip.max);
    } else {
      op.FloatAttr("max_norm", clip.max);
    }
    builder.Append(op);
    gradient = clipped;
  }
}

// A gradient as one tensor, with rows of equal index added up.
std::string Dense(ProgramBuilder& builder, const std::string& gradient) {
  const Variable* variable = builder.FindInMain(gradient);
  if (variable == nullptr || !HoldsSelectedRows(*variable)) return gradient;
  const std::string merged =
      builder.AppendWithOutput(builder.New("merge_selected_rows").Input("X", gradient), "Out",
                               Temporary(builder, "merge_selected_rows"));
  return builder.AppendWithOutput(builder.New("get_tensor_from_selected_rows").Input("X", merged),
                                  "Out", Temporary(builder, "get_tensor_from_selected_rows"));
}

// The sum of the squares of a gradient's elements.
std::string SumOfSquares(ProgramBuilder& builder, const std::string& gradient) {
  if (builder.era() == Era::kPaddle2) {
    return builder.AppendWithOutput(builder.New("squared_l2_norm").Input("X", gradient), "Out",
                                    Temporary(builder, "squared_l2_norm"));
  }
  const std::string square = builder.AppendWithOutput(builder.New("square").Input("X", gradient),
                                                      "Out", Temporary(builder, "square"));
  return builder.AppendWithOutput(
      builder.New("reduce_sum").Input("X", square).BoolAttr("reduce_all", true), "Out",
      Temporary(builder, "reduce_sum"));
}

// max / max(||all||, max).
std::string GlobalFactor(float max, ProgramBuilder& builder,
                         const std::vector<std::string>& squares) {
  const auto append = [&builder](OpBuilder& op, absl::string_view base) {
    return builder.AppendWithOutput(op, "Out", Temporary(builder, base));
  };
  const std::string sum = append(builder.New("sum").Input("X", squares), "sum");
  const std::string norm = append(builder.New("sqrt").Input("X", sum), "sqrt");
  const std::string limit = builder.AppendConstant(max);
  const std::string larger =
      append(builder.New("elementwise_max").Input("X", limit).Input("Y", norm), "elementwise_max");
  return append(builder.New("elementwise_div").Input("X", limit).Input("Y", larger),
                "elementwise_div");
}

void ClipTogether(const GradientClip& clip, ProgramBuilder& builder,
                  std::vector<ParameterGradient>& parameters) {
  // 2.x clips in place.
  std::vector<ParameterGradient> clipped = parameters;
  if (builder.era() == Era::kFluid) {
    for (ParameterGradient& of : clipped) of.gradient = Temporary(builder, "elementwise_mul");
  }
  std::vector<std::string> squares;
  for (size_t i = 0; i < parameters.size(); ++i) {
    builder.SetRole(kOptimize, {clipped[i].parameter, clipped[i].gradient});
    squares.push_back(SumOfSquares(builder, Dense(builder, parameters[i].gradient)));
  }
  const std::string factor = GlobalFactor(clip.max, builder, squares);
  for (size_t i = 0; i < parameters.size(); ++i) {
    builder.SetRole(kOptimize, {clipped[i].parameter, clipped[i].gradient});
    builder.Append(builder.New("elementwise_mul")
                       .Input("X", parameters[i].gradient)
                       .Input("Y", factor)
                       .Output("Out", clipped[i].gradient));
  }
  parameters = std::move(clipped);
}

}  // namespace

void ClipGradients(const GradientClip& clip, ProgramBuilder& builder,
                   std::vector<ParameterGradient>& parameters) {
  switch (clip.kind) {
    case GradientClip::Kind::kNone:
      return;
    case GradientClip::Kind::kByValue:
    case GradientClip::Kind::kByNorm:
      return ClipEach(clip, builder, parameters);
    case GradientClip::Kind::kByGlobalNorm:
      return ClipTogether(clip, builder, parameters);
  }
}

}  // namespace fixpoint
