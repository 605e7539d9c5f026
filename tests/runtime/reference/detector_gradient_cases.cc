// The cases of ops of detectors, and of a weight by its largest singular value.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/gradient_cases.h"

namespace fixpoint::reference {
namespace {

// Two images, the second with a box of another layer and one that is none. An image whose boxes
// share no cell: of several there the last alone has a gradient.
constexpr char kTruth[] =
    "box f32[2,3,4] 0.3 0.2 0.3 0.4 0.8 0.7 0.2 0.2 0.1 0.9 0.05 0.1 "
    "0.6 0.6 0.9 0.8 0.3 0.8 0.25 0.3 0.5 0.5 0 0.2\n"
    "label i32[2,3] 0 1 2 1 0 2\nscore f32[2,3] 1 0.5 0.25 1 0.75 1";

GradientCase YoloLoss(const std::string& name, const std::string& score, const std::string& attrs) {
  return {name,
          absl::StrCat("var x f32[2,16,2,2] persistable\n"
                       "var box f32[2,3,4] stop_gradient\n"
                       "var label i32[2,3] stop_gradient\n"
                       "var score f32[2,3] stop_gradient\n"
                       "yolov3_loss(X=x, GTBox=box, GTLabel=label",
                       score,
                       ") -> (Loss=out, ObjectnessMask=seen, GTMatchMask=match) {anchors=[8, "
                       "10, 16, 20, 60, 50], anchor_mask=[0, 1], class_num=3, ",
                       attrs, "}"),
          kTruth};
}

}  // namespace

std::vector<GradientCase> DetectorGradientCases() {
  return {
      YoloLoss("yolov3_loss", ", GTScore=score", "ignore_thresh=0.5, downsample_ratio=32"),
      YoloLoss("yolov3_loss_without_scores", "",
               "ignore_thresh=0.2, downsample_ratio=16, use_label_smooth=false, scale_x_y=1.2"),
      {"sigmoid_focal_loss",
       R"(
         var x f32[4,3] persistable
         var label i32[4,1] stop_gradient
         var count i32[1] stop_gradient
         sigmoid_focal_loss(X=x, Label=label, FgNum=count) -> (Out=out) {gamma=1.5, alpha=0.3})",
       "label i32[4,1] 0 2 -1 3\ncount i32[1] 2"},
      {"prroi_pool",
       R"(
         var x f32[1,2,5,6] persistable
         var rois f32[3,4] lod=1 persistable
         prroi_pool(X=x, ROIs=rois) -> (Out=out) {pooled_height=2, pooled_width=3,
           spatial_scale=0.5})",
       "rois f64[3,4] lod={0,3} 0.3 -1.1 9.7 9.1 1.3 2.1 4.7 3.3 5.1 0.7 12.3 7.9"},
      {"spectral_norm",
       R"(
         var w f32[2,3,2] persistable
         var u f32[3] stop_gradient
         var v f32[4] stop_gradient
         spectral_norm(Weight=w, U=u, V=v) -> (Out=out) {dim=1, power_iters=0})",
       "u f32[3] 0.5 0.25 -0.75\nv f32[4] 1 -0.5 0.25 0.125",
       {1, 2}},
  };
}

}  // namespace fixpoint::reference
