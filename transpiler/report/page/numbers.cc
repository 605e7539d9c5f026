#include "transpiler/report/page/numbers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace fixpoint {

std::string NumberText(double number) { return absl::StrFormat("%.4g", number); }

std::string NumberText(double number, const std::string& unit) {
  return unit.empty() ? NumberText(number) : absl::StrFormat("%.2f %s", number, unit);
}

std::string DecibelText(double decibels) {
  return std::isinf(decibels) && decibels > 0 ? "exact" : absl::StrFormat("%.1f dB", decibels);
}

std::string ShareText(double share) {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return absl::StrFormat("%.1f %%", 100 * share);
}

std::string BytesText(int64_t bytes) {
  const char* const kUnits[] = {"bytes", "kB", "MB", "GB"};
  auto number = static_cast<double>(bytes);
  int unit = 0;
  while (number >= 1000 && unit < 3) {
    number /= 1000;
    ++unit;
  }
  return absl::StrCat(absl::StrFormat(unit == 0 || number >= 100 ? "%.0f" : "%.1f", number), " ",
                      kUnits[unit]);
}

std::string MillisecondsText(double number) {
  return number > 0 && number < 0.1 ? absl::StrFormat("%.3g \xc2\xb5s", 1000 * number)
                                    : absl::StrFormat("%.3g ms", number);
}

std::string CountText(int64_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrJoin(shape, " \xc3\x97 ", [](std::string* out, int64_t extent) {
    extent < 0 ? absl::StrAppend(out, "?") : absl::StrAppend(out, extent);
  });
}

std::string PercentOf(double part, double whole) {
  const double share = whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
  return absl::StrFormat("%.2f%%", 100 * share);
}

}  // namespace fixpoint
