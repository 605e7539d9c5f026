// Numbers as a page shows them: with units, and as many digits as help.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_NUMBERS_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_NUMBERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace fixpoint {

// Between a number and what becomes of it, or an op and what it writes.
inline constexpr char kArrow[] = " \xe2\x86\x92 ";

std::string NumberText(double number);  // "0.1235"
// "91.53 %", of a number in percent; as above without a unit.
std::string NumberText(double number, const std::string& unit);
std::string DecibelText(double decibels);     // "31.2 dB"; "exact" for infinity
std::string ShareText(double share);          // "12.5 %"; "< 0.1 %" for what is not quite nothing
std::string BytesText(int64_t bytes);         // "440 kB"
std::string MillisecondsText(double number);  // "1.24 ms"; below 0.1 ms in microseconds
// "1 op", "2 ops".
std::string CountText(int64_t count, const char* what);
// "32 x 16 x 3 x 3", "?" for an extent that is not declared.
std::string ShapeText(const std::vector<int64_t>& shape);
// The place of something, as a percentage of a whole, for a style or a drawing: "12.50%".
std::string PercentOf(double part, double whole);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_NUMBERS_H_
