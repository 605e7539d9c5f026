#include "runtime/comparison.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/op_schema.h"
#include "ops/quant_math.h"
#include "proto/attributes.h"
#include "proto/status_macros.h"

namespace fixpoint {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The place of a number on the line on which neighbours are 1 apart; both zeros have one.
template <typename Bits, typename T>
int64_t Place(T value) {
  static_assert(sizeof(Bits) == sizeof(T));
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits < 0 ? int64_t{std::numeric_limits<Bits>::min()} - bits : bits;
}

template <typename T>
double UlpsBetween(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const auto [least, most] = std::minmax({Place<Bits>(a), Place<Bits>(b)});
  return static_cast<double>(static_cast<uint64_t>(most) - static_cast<uint64_t>(least));
}

// REQUIRES: they are not equal.
template <typename T>
double DifferenceOf(T a, T b, DifferenceUnit unit) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return kInfinity;
    if (unit == DifferenceUnit::kUlps) return UlpsBetween(a, b);
  }
  return std::abs(static_cast<double>(a) - static_cast<double>(b));
}

template <typename T>
void CompareElements(absl::Span<const T> values, absl::Span<const T> others, int64_t run,
                     ComparedVariable* compared) {
  compared->elements += static_cast<int64_t>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto other = static_cast<double>(others[i]);
    if (std::isfinite(other)) compared->signal += other * other;
    if (std::memcmp(&values[i], &others[i], sizeof(T)) == 0) continue;
    if (values[i] == others[i]) {
      ++compared->other_zeros;
      continue;
    }
    const auto value = static_cast<double>(values[i]);
    ++compared->different;
    if (!compared->first) compared->first = {run, static_cast<int64_t>(i), value, other};
    compared->largest =
        std::max(compared->largest, DifferenceOf(values[i], others[i], compared->unit));
    const double noise = value - other;
    compared->noise += std::isfinite(noise) ? noise * noise : kInfinity;
  }
}

bool IsCodes(VarType::Type dtype) { return dtype == VarType::INT8 || dtype == VarType::UINT8; }

// Codes as the simulation holds them.
Tensor AsNumbers(const Tensor& codes) {
  Tensor numbers = *Tensor::Allocate(VarType::FP32, codes.dims());
  const auto to = numbers.mutable_data<float>();
  for (int64_t i = 0; i < codes.size(); ++i) {
    to[i] = codes.dtype() == VarType::UINT8 ? codes.data<uint8_t>()[i] : codes.data<int8_t>()[i];
  }
  return numbers;
}

std::string Described(const Tensor& tensor) {
  return absl::StrCat(VarType::Type_Name(tensor.dtype()), " ", DimsText(tensor.dims()));
}

// Whether what an op writes are numbers that stand for codes.
bool WritesCodes(const Op& op) {
  const OpSchema* schema = FindOpSchema(op.type());
  return schema != nullptr && schema->quant_op() == QuantOp::kQuantize;
}

// What ops write, in order, each once.
std::vector<ComparedVariable> WrittenVariables(const Program& program) {
  std::vector<ComparedVariable> written;
  for (const WrittenTensor& tensor : WrittenTensors(program)) {
    ComparedVariable& variable = written.emplace_back();
    variable.name = tensor.name;
    if (WritesCodes(*tensor.op)) variable.unit = DifferenceUnit::kSteps;
  }
  return written;
}

absl::StatusOr<std::vector<Tensor>> RunOn(const RunnableProgram& runnable,
                                          absl::Span<const Feed> feeds,
                                          absl::Span<const std::string> names) {
  std::vector<Feed> declared;
  for (const Feed& feed : feeds) {
    if (runnable.program->Find(runnable.program->block(0), feed.name) != nullptr) {
      declared.push_back(feed);
    }
  }
  auto fetched = runnable.backend->Run(declared, names, /*step=*/0);
  if (fetched.ok()) return fetched;
  return AtPlace(runnable.program->name(), fetched.status());
}

// What one program's variables hold, given in the order of their names.
class Fetcher {
 public:
  Fetcher(const RunnableProgram& runnable, absl::Span<const Feed> feeds,
          const std::vector<std::string>& names)
      : runnable_(runnable), feeds_(feeds), names_(names) {}

  absl::StatusOr<Tensor> Next() {
    const size_t i = next_++;
    if (!runnable_.in_one_run) {
      ASSIGN_OR_RETURN(std::vector<Tensor> fetched, RunOn(runnable_, feeds_, {names_[i]}));
      return std::move(fetched.front());
    }
    if (i == 0) {
      ASSIGN_OR_RETURN(all_, RunOn(runnable_, feeds_, names_));
    }
    return std::move(all_[i]);
  }

 private:
  const RunnableProgram& runnable_;
  const absl::Span<const Feed> feeds_;
  const std::vector<std::string>& names_;
  std::vector<Tensor> all_;
  size_t next_ = 0;
};

// The codes nearest to numbers.
template <typename Code>
Tensor AsCodes(const Tensor& numbers) {
  std::vector<Code> codes;
  for (const float number : numbers.data<float>()) {
    const float code = std::clamp<float>(number, std::numeric_limits<Code>::min(),
                                         std::numeric_limits<Code>::max());
    codes.push_back(std::isnan(number) ? 0 : static_cast<Code>(code));
  }
  return Tensor::FromValues<Code>(numbers.dims(), codes);
}

// What one program holds, as a variable of the other one is declared.
absl::StatusOr<Tensor> AsDeclared(const Tensor& tensor, const Variable& variable) {
  const VarType::Type declared = variable.tensor()->data_type();
  if (tensor.dtype() == VarType::FP32 && declared == VarType::INT8) return AsCodes<int8_t>(tensor);
  if (tensor.dtype() == VarType::FP32 && declared == VarType::UINT8) {
    return AsCodes<uint8_t>(tensor);
  }
  if (IsCodes(tensor.dtype()) && declared == VarType::FP32) return AsNumbers(tensor);
  return tensor.Clone();
}

// The quantize_linear with one range that writes a variable; null where there is none.
const Op* FindRounding(const Program& program, const std::string& name) {
  const Variable* const variable = program.Find(program.block(0), name);
  if (variable == nullptr || variable->values().size() != 1) return nullptr;
  const Op* const op = variable->values().front()->op();
  const bool rounds = op != nullptr && op->type() == "quantize_linear" &&
                      op->Input("X") != nullptr && op->Input("Scale") != nullptr;
  return rounds ? op : nullptr;
}

double CodeAt(const Tensor& codes, int64_t i) {
  if (codes.dtype() == VarType::FP32) return codes.data<float>()[i];
  return codes.dtype() == VarType::UINT8 ? codes.data<uint8_t>()[i] : codes.data<int8_t>()[i];
}

// How many codes differ by one step, where `rounding` rounds what is half-way between two.
absl::StatusOr<int64_t> CountTies(const RunnableProgram& rounds, const Op& rounding,
                                  absl::Span<const Feed> feeds, const Tensor& codes,
                                  const Tensor& others) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> read,
                   RunOn(rounds, feeds,
                         {std::string(rounding.Input("X")->name()),
                          std::string(rounding.Input("Scale")->name())}));
  const Tensor& x = read[0];
  const Tensor& range = read[1];
  if (x.dtype() != VarType::FP32 || range.dtype() != VarType::FP32 || range.size() != 1) return 0;
  const int bits = static_cast<int>(IntAttr(rounding.desc(), "bit_length").value_or(8));
  const float multiplier =
      static_cast<float>(LargestCode(bits)) * InverseRange(range.data<float>()[0]);
  int64_t ties = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    const float scaled = x.data<float>()[i] * multiplier;
    const bool is_tie = scaled - std::floor(scaled) == 0.5f;
    ties += is_tie && std::abs(CodeAt(codes, i) - CodeAt(others, i)) == 1;
  }
  return ties;
}

}  // namespace

double ComparedVariable::SignalToNoise() const {
  return noise == 0 ? kInfinity : 10 * std::log10(signal / noise);
}

absl::Status CompareTensors(const Tensor& tensor, const Tensor& other, int64_t run,
                            ComparedVariable* compared) {
  const bool same_type = tensor.dtype() == other.dtype();
  const bool codes = (IsCodes(tensor.dtype()) && other.dtype() == VarType::FP32) ||
                     (IsCodes(other.dtype()) && tensor.dtype() == VarType::FP32);
  if (tensor.dims() != other.dims() || !(same_type || codes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", Described(tensor), " in one program and ", Described(other),
                     " in the other; want the same dimensions, and the same type or codes and "
                     "FP32"));
  }
  if (codes) {
    compared->unit = DifferenceUnit::kSteps;
    const Tensor numbers = AsNumbers(IsCodes(tensor.dtype()) ? tensor : other);
    CompareElements<float>(IsCodes(tensor.dtype()) ? numbers.data<float>() : tensor.data<float>(),
                           IsCodes(other.dtype()) ? numbers.data<float>() : other.data<float>(),
                           run, compared);
    return absl::OkStatus();
  }
  const auto compare = [&](auto type) {
    using T = decltype(type);
    if (!std::is_floating_point_v<T>) compared->unit = DifferenceUnit::kSteps;
    CompareElements<T>(tensor.data<T>(), other.data<T>(), run, compared);
    return absl::OkStatus();
  };
  switch (tensor.dtype()) {
    case VarType::BOOL:
      return compare(bool{});
    case VarType::INT8:
      return compare(int8_t{});
    case VarType::UINT8:
      return compare(uint8_t{});
    case VarType::INT16:
      return compare(int16_t{});
    case VarType::INT32:
      return compare(int32_t{});
    case VarType::INT64:
      return compare(int64_t{});
    case VarType::FP32:
      return compare(float{});
    case VarType::FP64:
      return compare(double{});
    default:
      return absl::UnimplementedError(
          absl::StrCat("is ", Described(tensor), "; want BOOL, integers, FP32 or FP64"));
  }
}

absl::StatusOr<Comparison> Comparison::Create(const RunnableProgram& program,
                                              const RunnableProgram& other) {
  std::vector<ComparedVariable> variables;
  const std::vector<ComparedVariable> others = WrittenVariables(*other.program);
  for (ComparedVariable& variable : WrittenVariables(*program.program)) {
    const auto same =
        std::find_if(others.begin(), others.end(),
                     [&](const ComparedVariable& other) { return other.name == variable.name; });
    if (same != others.end()) variables.push_back(std::move(variable));
  }
  if (variables.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no tensor is written under the same name in ", program.program->name(),
                     " and ", other.program->name(), "; want two forms of one program"));
  }
  return Comparison(program, other, std::move(variables));
}

absl::Status Comparison::Run(absl::Span<const Feed> feeds) {
  std::vector<std::string> names;
  for (const ComparedVariable& variable : variables_) names.push_back(variable.name);
  std::vector<Tensor> others;
  Fetcher other_fetcher(other_, feeds, names);
  for (size_t i = 0; i < names.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor other, other_fetcher.Next());
    others.push_back(std::move(other));
  }

  std::vector<Tensor> given;
  for (const GivenTensor& tensor : program_.given) {
    const auto at = std::find(names.begin(), names.end(), tensor.name);
    CHECK(at != names.end()) << tensor.name << " is no tensor of both programs";
    const Variable& variable = *program_.program->Find(program_.program->block(0), tensor.given_as);
    ASSIGN_OR_RETURN(Tensor value, AsDeclared(others[at - names.begin()], variable));
    given.push_back(std::move(value));
  }
  std::vector<Feed> all_feeds(feeds.begin(), feeds.end());
  for (size_t i = 0; i < given.size(); ++i) {
    all_feeds.push_back({program_.given[i].given_as, &given[i]});
  }

  Fetcher fetcher(program_, all_feeds, names);
  for (size_t i = 0; i < names.size(); ++i) {
    ASSIGN_OR_RETURN(const Tensor tensor, fetcher.Next());
    const absl::Status status = Compare(feeds, tensor, others[i], &variables_[i]);
    if (!status.ok()) {
      return AtPlace(absl::StrCat(program_.program->name(), " and ", other_.program->name(), ": \"",
                                  names[i], "\""),
                     status);
    }
  }
  ++runs_;
  return absl::OkStatus();
}

absl::Status Comparison::Compare(absl::Span<const Feed> feeds, const Tensor& tensor,
                                 const Tensor& other, ComparedVariable* variable) const {
  const int64_t different_before = variable->different;
  RETURN_IF_ERROR(CompareTensors(tensor, other, runs_, variable));
  const bool may_be_ties =
      variable->different > different_before && variable->unit == DifferenceUnit::kSteps;
  if (!may_be_ties) return absl::OkStatus();
  const RunnableProgram* rounds = &other_;
  const Op* rounding = FindRounding(*other_.program, variable->name);
  if (rounding == nullptr && program_.given.empty()) {
    rounds = &program_;
    rounding = FindRounding(*program_.program, variable->name);
  }
  if (rounding == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t ties, CountTies(*rounds, *rounding, feeds, tensor, other));
  variable->ties += ties;
  return absl::OkStatus();
}

int64_t Comparison::SumOf(int64_t ComparedVariable::*count) const {
  int64_t sum = 0;
  for (const ComparedVariable& variable : variables_) sum += variable.*count;
  return sum;
}

const ComparedVariable* Comparison::FirstThatDiffers() const {
  const auto first =
      std::find_if(variables_.begin(), variables_.end(),
                   [](const ComparedVariable& variable) { return variable.different > 0; });
  return first == variables_.end() ? nullptr : &*first;
}

}  // namespace fixpoint
