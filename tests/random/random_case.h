// One random case of an op: a small program, values for what it reads, and how its outputs are
// compared. Made by a generator (generators.h) with a CaseMaker.

#ifndef FIXPOINT_TESTS_RANDOM_RANDOM_CASE_H_
#define FIXPOINT_TESTS_RANDOM_RANDOM_CASE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/era.h"
#include "runtime/scope.h"
#include "tests/testing/random_program.h"

namespace fixpoint::random_cases {

struct RandomCase {
  std::string declarations;  // of the inputs, as text (proto/text/program_text.h)
  std::string ops;           // of block 0
  std::string blocks;        // after block 0
  Era era = Era::kPaddle2;
  Scope inputs;
  std::vector<std::string> fetches;
  // "" or the type of a gradient op of the last op, which is run too and whose outputs are fetched
  // in the place of the above.
  std::string gradient;
  // Whether the bits have to be equal; else numbers may be apart as docs/numerics.md says.
  bool is_exact = false;
  // The longest sum of floats that an output or gradient element is made of.
  int64_t summands = 1;
  // What the absolute values of the summands of an element add up to, at most; 0 where moving the
  // inputs tells.
  double magnitude = 0;
  // The inputs that are moved to see what rounding does. Where there are none, all floats are.
  std::vector<std::string> moved;

  std::string Text() const;
};

// A list as the text form has it: "[1, 2]".
template <typename List>
std::string ListText(const List& list) {
  return absl::StrCat("[", absl::StrJoin(list, ", "), "]");
}
// With a point or an exponent, so that it is no INT.
std::string FloatText(float value);
std::string FloatsText(const std::vector<float>& values);
inline const char* BoolText(bool value) { return value ? "true" : "false"; }

// Draws inputs and writes ops.
class CaseMaker {
 public:
  explicit CaseMaker(uint64_t seed);

  bool OneIn(int n) { return random_.OneIn(n); }
  // Both ends are included.
  int Between(int low, int high) { return low + random_.Below(high - low + 1); }
  float Between(float low, float high);
  template <typename T>
  T OneOf(std::initializer_list<T> list) {
    return random_.OneOf(std::vector<T>(list));
  }
  template <typename List>
  typename List::value_type OneOf(const List& list) {
    return random_.OneOf(list);
  }

  // Extents of 1 to `largest`, 1 more often than others.
  Dims SomeDims(int smallest_rank, int largest_rank, int largest = 6);
  // An axis of that many, counted from the front or from the back.
  int SomeAxis(size_t rank);
  // In [0, rank), some of them, in ascending order.
  std::vector<int> SomeAxes(size_t rank);

  // What follows declares an input, gives it values and gives its name. Numbers: between -2 and 2
  // as a rule, or with many equal ones, or of one magnitude between 1e-3 and 1e3.
  std::string Numbers(const Dims& dims);
  std::string Numbers(const Dims& dims, float low, float high);
  // Like Numbers, times a power of ten between 1e-`exponent` and 1e`exponent`.
  std::string WideNumbers(const Dims& dims, int exponent);
  // Like Numbers, with infinities, NaN, subnormal numbers, zeros of both signs and large values.
  std::string AnyNumbers(const Dims& dims);
  std::string Floats(const Dims& dims, const std::vector<float>& values);
  std::string Integers(VarType::Type dtype, const Dims& dims, int64_t low, int64_t high);
  // Codes from `low` to `high`; of many cases the extreme ones alone.
  std::string Codes(VarType::Type dtype, const Dims& dims, int low, int high);
  // Rows of `dims` are cut into sequences, some without rows.
  void CutIntoSequences(const std::string& input);
  void CutAt(const std::string& input, std::vector<uint64_t> offsets);
  // Makes one sequence of the rows of an input.
  void MakeOneSequence(const std::string& input);

  const Tensor& Input(const std::string& name) const;
  // Half of the inputs are persistable, what a program keeps is.
  void Persist(const std::string& input);

  // The dims of the first output of an op in text that reads inputs, or others of those dims.
  Dims OutputDims(const std::string& op,
                  const std::vector<std::pair<std::string, Dims>>& others = {}) const;
  Era era() const { return case_.era; }
  void set_era(Era era) { case_.era = era; }
  bool is_2x() const { return case_.era == Era::kPaddle2; }

  // Adds a line of text.
  template <typename... Parts>
  void Op(const Parts&... parts) {
    absl::StrAppend(&case_.ops, "  ", parts..., "\n");
  }
  template <typename... Parts>
  void Declare(const Parts&... parts) {
    absl::StrAppend(&case_.declarations, "  var ", parts..., "\n");
  }
  template <typename... Parts>
  void Block(const Parts&... parts) {
    absl::StrAppend(&case_.blocks, parts..., "\n");
  }
  void Fetch(std::vector<std::string> fetches) { case_.fetches = std::move(fetches); }
  void Exact() { case_.is_exact = true; }
  void Sums(int64_t summands) { case_.summands = summands; }
  void Magnitude(double magnitude) { case_.magnitude = magnitude; }
  void Move(std::vector<std::string> inputs) { case_.moved = std::move(inputs); }

  RandomCase Take() { return std::move(case_); }

 private:
  std::string Add(const char* type, Tensor tensor);
  float Number(int style, float magnitude);

  Random random_;
  RandomCase case_;
  int inputs_ = 0;
};

int64_t SizeOf(const Dims& dims);
// "f32[2,3]"
std::string DimsList(const Dims& dims);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_RANDOM_CASE_H_
