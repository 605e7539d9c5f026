#include "transpiler/report/page/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "transpiler/report/page/numbers.h"

namespace fixpoint {
namespace {

// Of a drawing, which is stretched to its place.
constexpr double kWidth = 1000;
constexpr double kHeight = 100;
constexpr int kMostPoints = 500;  // of a curve

std::string At(double x, double y) { return absl::StrFormat("%.1f %.1f", x, y); }

// Maps numbers to places.
struct Axis {
  double low = 0;
  double high = 1;
  double length = 1;

  double Of(double number) const {
    return high > low ? std::clamp((number - low) / (high - low), 0.0, 1.0) * length : length / 2;
  }
  bool Has(double number) const { return number >= low && number <= high; }
};

// Begins a drawing, which screen readers read as `text`.
void OpenPlot(const std::string& text, Html* html) {
  html->Open("svg", {{"class", "plot"},
                     {"viewBox", absl::StrCat("0 0 ", kWidth, " ", kHeight)},
                     {"preserveAspectRatio", "none"},
                     {"role", "img"},
                     {"aria-label", text}});
}

void DrawUpright(const char* kind, double x, Html* html) {
  html->Void("path", {{"class", kind}, {"d", absl::StrCat("M", At(x, 0), "V", kHeight)}});
}

void DrawEnds(const std::string& low, const std::string& high, Html* html) {
  html->Open("div", {{"class", "ends"}, {"aria-hidden", "true"}});
  html->Element("span", low).Element("span", high).Close();
}

}  // namespace

void DrawHistogram(const RunReport::Value& value, Html* html) {
  const RunReport::Histogram& histogram = value.histogram();
  if (histogram.counts_size() == 0) return;
  Axis axis{static_cast<double>(histogram.edges(0)),
            static_cast<double>(histogram.edges(histogram.edges_size() - 1)), kWidth};
  const bool has_limits = value.has_low() && value.has_high() && std::isfinite(value.low()) &&
                          std::isfinite(value.high());
  const auto low = static_cast<double>(value.low());
  const auto high = static_cast<double>(value.high());
  if (has_limits) {
    axis.low = std::min(axis.low, low);
    axis.high = std::max(axis.high, high);
  }
  const int64_t most = *std::max_element(histogram.counts().begin(), histogram.counts().end());
  const auto height_of = [most](int64_t count) {
    if (count == 0) return 0.0;
    const double share =
        std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most));
    return std::max(2.0, 0.96 * kHeight * share);
  };
  std::string kept;
  std::string clipped;
  for (int i = 0; i < histogram.counts_size(); ++i) {
    const double height = height_of(histogram.counts(i));
    if (height == 0) continue;
    const auto begin = static_cast<double>(histogram.edges(i));
    const auto end = static_cast<double>(histogram.edges(i + 1));
    const bool is_kept = !has_limits || ((begin + end) / 2 >= low && (begin + end) / 2 <= high);
    const double left = axis.Of(begin);
    const double right = std::max(axis.Of(end), left + 2);
    absl::StrAppend(is_kept ? &kept : &clipped, "M", At(left, kHeight),
                    absl::StrFormat("V%.1fH%.1fV%.0fZ", kHeight - height, right, kHeight));
  }
  OpenPlot(absl::StrCat("Histogram of ", value.variable(), " from ", NumberText(axis.low), " to ",
                        NumberText(axis.high)),
           html);
  if (has_limits) {
    const double left = axis.Of(low);
    html->Void("rect", {{"class", "covered"},
                        {"x", absl::StrFormat("%.1f", left)},
                        {"width", absl::StrFormat("%.1f", axis.Of(high) - left)},
                        {"height", absl::StrCat(kHeight)}});
  }
  if (axis.Has(0)) DrawUpright("zero", axis.Of(0), html);
  html->Void("path", {{"class", "bars"}, {"d", kept}});
  if (!clipped.empty()) html->Void("path", {{"class", "bars clipped"}, {"d", clipped}});
  if (has_limits) {
    DrawUpright("limit", axis.Of(low), html);
    DrawUpright("limit", axis.Of(high), html);
  }
  html->Close();
  DrawEnds(NumberText(axis.low), NumberText(axis.high), html);
}

void DrawCurves(const std::string& title, const std::vector<Series>& series, Html* html) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Axis across{kNone, -kNone, kWidth};
  Axis up{kNone, -kNone, 0.96 * kHeight};
  for (const Series& one : series) {
    for (int i = 0; i < one.curve->values_size(); ++i) {
      if (!std::isfinite(one.curve->values(i))) continue;
      across.low = std::min(across.low, static_cast<double>(one.curve->steps(i)));
      across.high = std::max(across.high, static_cast<double>(one.curve->steps(i)));
      up.low = std::min(up.low, one.curve->values(i));
      up.high = std::max(up.high, one.curve->values(i));
    }
  }
  if (across.low > across.high) return;
  html->Open("figure", {{"class", "curves"}}).Open("figcaption");
  html->Element("strong", title);
  for (size_t i = 0; i < series.size(); ++i) {
    const RunReport::Curve& curve = *series[i].curve;
    html->Open("span", {{"class", absl::StrCat("series series-", i)}});
    if (!series[i].name.empty()) html->Text(absl::StrCat(series[i].name, ": "));
    html->Text(absl::StrCat("last ",
                            curve.values_size() == 0
                                ? "none"
                                : NumberText(curve.values(curve.values_size() - 1), curve.unit())));
    html->Close();
  }
  html->Close();
  html->Open("div", {{"class", "framed"}});
  html->Open("div", {{"class", "levels"}, {"aria-hidden", "true"}});
  const std::string& unit = series[0].curve->unit();
  html->Element("span", NumberText(up.high, unit)).Element("span", NumberText(up.low, unit));
  html->Close();
  OpenPlot(
      absl::StrCat(title, " from step ", NumberText(across.low), " to ", NumberText(across.high),
                   ", between ", NumberText(up.low, unit), " and ", NumberText(up.high, unit)),
      html);
  for (size_t i = 0; i < series.size(); ++i) {
    const RunReport::Curve& curve = *series[i].curve;
    const int stride = std::max(1, curve.values_size() / kMostPoints);
    std::string path;
    bool is_open = false;
    for (int at = 0; at < curve.values_size(); ++at) {
      if (at % stride != 0 && at + 1 != curve.values_size()) continue;
      const double number = curve.values(at);
      if (!std::isfinite(number)) {
        is_open = false;
        continue;
      }
      absl::StrAppend(
          &path, is_open ? "L" : "M",
          At(across.Of(static_cast<double>(curve.steps(at))), 0.98 * kHeight - up.Of(number)));
      is_open = true;
    }
    html->Void("path", {{"class", absl::StrCat("curve series-", i)}, {"d", path}});
  }
  html->Close().Close();
  DrawEnds(absl::StrCat("step ", NumberText(across.low)), NumberText(across.high), html);
  html->Close();
}

void DrawBar(double share, const std::string& kind, Html* html) {
  html->Open("span", {{"class", absl::StrCat("bar ", kind)}, {"aria-hidden", "true"}});
  html->Element("i", "", {{"style", absl::StrCat("width:", PercentOf(share, 1))}}).Close();
}

}  // namespace fixpoint
