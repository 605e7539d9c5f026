// How the inputs of integer sums are coded, as a table for tests.

#ifndef FIXPOINT_TESTS_RUNTIME_KERNELS_CODING_CASES_H_
#define FIXPOINT_TESTS_RUNTIME_KERNELS_CODING_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

struct CodingCase {
  std::string name;
  InputCoding coding;
  int32_t zero_point;
  int farthest;  // the code that is farthest from the zero point

  // What a code, as a byte, stands for.
  int NumberOf(uint8_t byte) const {
    const int code = coding.type == CodeType::kUint8 ? byte : static_cast<int8_t>(byte);
    return code - zero_point;
  }
};

inline std::vector<CodingCase> SymmetricCodings() {
  return {{"Uint8", CodeType::kUint8, 0, 255}, {"Int8", CodeType::kInt8, 0, -128}};
}

inline std::vector<CodingCase> AffineCodings() {
  return {{"AffineUint8", {CodeType::kUint8, true}, 77, 255},
          {"AffineUint8OfNegatives", {CodeType::kUint8, true}, 255, 0},
          {"AffineUint8OfPositives", {CodeType::kUint8, true}, 0, 255},
          {"AffineInt8", {CodeType::kInt8, true}, -50, 127},
          {"AffineInt8OfNegatives", {CodeType::kInt8, true}, 127, -128}};
}

inline std::vector<CodingCase> CodingCases() {
  std::vector<CodingCase> cases = SymmetricCodings();
  for (CodingCase& coding : AffineCodings()) cases.push_back(coding);
  return cases;
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_TESTS_RUNTIME_KERNELS_CODING_CASES_H_
