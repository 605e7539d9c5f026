#include "runtime/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/op_schema.h"
#include "proto/status_macros.h"

namespace fixpoint {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The place of a number on the line on which neighbours are 1 apart; -0 is the one before 0.
template <typename Bits, typename T>
int64_t Place(T value) {
  static_assert(sizeof(Bits) == sizeof(T));
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits < 0 ? std::numeric_limits<Bits>::min() - bits - 1 : bits;
}

template <typename T>
double UlpsBetween(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const auto [least, most] = std::minmax({Place<Bits>(a), Place<Bits>(b)});
  return static_cast<double>(static_cast<uint64_t>(most) - static_cast<uint64_t>(least));
}

// REQUIRES: the bits differ.
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
    const auto value = static_cast<double>(values[i]);
    ++compared->different;
    if (!compared->first) compared->first = {run, static_cast<int64_t>(i), value, other};
    compared->largest =
        std::max(compared->largest, DifferenceOf(values[i], others[i], compared->unit));
    const double noise = value == other ? 0 : value - other;
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

bool IsPlainTensor(const Variable* variable) {
  return variable != nullptr && !variable->persistable() &&
         variable->desc()->type().type() == VarType::LOD_TENSOR;
}

// What ops write, in order, each once.
std::vector<ComparedVariable> WrittenTensors(const Program& program) {
  std::vector<ComparedVariable> written;
  absl::flat_hash_set<std::string> names;
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == "feed") continue;
    for (const Argument* output : op.outputs()) {
      if (!IsPlainTensor(output->variable()) || !names.insert(std::string(output->name())).second) {
        continue;
      }
      ComparedVariable& variable = written.emplace_back();
      variable.name = std::string(output->name());
      if (WritesCodes(op)) variable.unit = DifferenceUnit::kSteps;
    }
  }
  return written;
}

// What one program's variables hold, given in the order of their names.
class Fetcher {
 public:
  Fetcher(const RunnableProgram& runnable, absl::Span<const Feed> feeds,
          const std::vector<std::string>& names)
      : runnable_(runnable), names_(names) {
    for (const Feed& feed : feeds) {
      if (runnable.program->Find(runnable.program->block(0), feed.name) != nullptr) {
        feeds_.push_back(feed);
      }
    }
  }

  absl::StatusOr<Tensor> Next() {
    const size_t i = next_++;
    if (!runnable_.in_one_run) {
      ASSIGN_OR_RETURN(std::vector<Tensor> fetched, Run({names_[i]}));
      return std::move(fetched.front());
    }
    if (i == 0) {
      ASSIGN_OR_RETURN(all_, Run(names_));
    }
    return std::move(all_[i]);
  }

 private:
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const std::string> names) const {
    auto fetched = runnable_.backend->Run(feeds_, names, /*step=*/0);
    if (fetched.ok()) return fetched;
    return AtPlace(runnable_.program->name(), fetched.status());
  }

  const RunnableProgram& runnable_;
  const std::vector<std::string>& names_;
  std::vector<Feed> feeds_;
  std::vector<Tensor> all_;
  size_t next_ = 0;
};

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
  const std::vector<ComparedVariable> others = WrittenTensors(*other.program);
  for (ComparedVariable& variable : WrittenTensors(*program.program)) {
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
  Fetcher fetcher(program_, feeds, names);
  Fetcher other_fetcher(other_, feeds, names);
  for (ComparedVariable& variable : variables_) {
    ASSIGN_OR_RETURN(const Tensor tensor, fetcher.Next());
    ASSIGN_OR_RETURN(const Tensor other, other_fetcher.Next());
    const absl::Status status = CompareTensors(tensor, other, runs_, &variable);
    if (!status.ok()) {
      return AtPlace(absl::StrCat(program_.program->name(), " and ", other_.program->name(), ": \"",
                                  variable.name, "\""),
                     status);
    }
  }
  ++runs_;
  return absl::OkStatus();
}

int64_t Comparison::elements() const {
  int64_t sum = 0;
  for (const ComparedVariable& variable : variables_) sum += variable.elements;
  return sum;
}

int64_t Comparison::different() const {
  int64_t sum = 0;
  for (const ComparedVariable& variable : variables_) sum += variable.different;
  return sum;
}

const ComparedVariable* Comparison::FirstThatDiffers() const {
  const auto first =
      std::find_if(variables_.begin(), variables_.end(),
                   [](const ComparedVariable& variable) { return variable.different > 0; });
  return first == variables_.end() ? nullptr : &*first;
}

}  // namespace fixpoint
