// Numbers that no program holds, to every op's inference: an answer or an error, nothing else.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/op_schema.h"

namespace fixpoint {
namespace {

constexpr int kRounds = 300;
constexpr int64_t kSizes[] = {-1,        -1,
                              0,         1,
                              2,         3,
                              4,         8,
                              1 << 16,   1LL << 31,
                              1LL << 62, std::numeric_limits<int64_t>::max(),
                              -2,        std::numeric_limits<int64_t>::min()};
constexpr int32_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                3,
                                4,
                                5,
                                1 << 16,
                                -7,
                                std::numeric_limits<int32_t>::max(),
                                std::numeric_limits<int32_t>::min()};
constexpr float kReals[] = {0,
                            1,
                            -1,
                            0.5f,
                            1e38f,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
constexpr const char* kStrings[] = {"", "NHWC", "NCHW", "SAME", "VALID", "EXPLICIT", "max", "?"};

class Absurd {
 public:
  explicit Absurd(uint32_t seed) : random_(seed) {}

  VarDesc Variable() {
    VarDesc var;
    var.set_name("x");
    var.mutable_type()->set_type(VarType::LOD_TENSOR);
    auto* tensor = var.mutable_type()->mutable_lod_tensor()->mutable_tensor();
    tensor->set_data_type(VarType::FP32);
    for (int rank = Below(6); rank > 0; --rank) tensor->add_dims(Pick(kSizes));
    return var;
  }

  void FillAttr(OpDesc::Attr* attr) {
    attr->clear_ints();
    attr->clear_longs();
    attr->clear_floats();
    attr->set_i(Pick(kNumbers));
    attr->set_l(Pick(kSizes));
    attr->set_f(Pick(kReals));
    attr->set_b(Below(2) == 1);
    attr->set_s(Pick(kStrings));
    for (int n = Below(7); n > 0; --n) {
      attr->add_ints(Pick(kNumbers));
      attr->add_longs(Pick(kSizes));
      attr->add_floats(Pick(kReals));
    }
  }

  int Below(int n) { return static_cast<int>(random_() % n); }

 private:
  template <typename T, size_t n>
  T Pick(const T (&values)[n]) {
    return values[random_() % n];
  }

  std::mt19937 random_;
};

void AddSlots(absl::Span<const SlotSchema> slots, Absurd* absurd,
              google::protobuf::RepeatedPtrField<OpDesc::Var>* made) {
  for (const SlotSchema& slot : slots) {
    OpDesc::Var* var = made->Add();
    var->set_parameter(slot.name);
    for (int n = absurd->Below(slot.list ? 4 : 2); n >= 0; --n) var->add_arguments("x");
  }
}

class AbsurdInput : public testing::TestWithParam<const OpSchema*> {};

TEST_P(AbsurdInput, IsAnsweredOrRefused) {
  const OpSchema& schema = *GetParam();
  for (int round = 0; round < kRounds; ++round) {
    Absurd absurd(round);
    OpDesc op;
    op.set_type(schema.type());
    AddSlots(schema.inputs(), &absurd, op.mutable_inputs());
    AddSlots(schema.outputs(), &absurd, op.mutable_outputs());
    for (const AttrSchema& attr : schema.attrs()) {
      if (absurd.Below(3) == 0 && attr.default_value) continue;
      OpDesc::Attr* made = op.add_attrs();
      made->set_name(attr.name);
      made->set_type(attr.type);
      absurd.FillAttr(made);
    }
    const VarDesc variables[] = {absurd.Variable(), absurd.Variable(), absurd.Variable()};
    int next = 0;
    const auto find = [&](absl::string_view) { return &variables[next++ % 3]; };
    const Era era = round % 2 == 0 ? Era::kFluid : Era::kPaddle2;
    const auto outputs = InferOutputs(op, era, find);
    if (!outputs.ok()) {
      EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(outputs.status().message(), "");
      continue;
    }
    for (const InferredOutput& output : *outputs) {
      if (!output.dims) continue;
      for (const int64_t dim : *output.dims) {
        EXPECT_GE(dim, kUnknownDim) << op.ShortDebugString() << DimsText(*output.dims);
      }
    }
  }
}

std::string OpName(const testing::TestParamInfo<const OpSchema*>& info) {
  return info.param->type();
}

INSTANTIATE_TEST_SUITE_P(AllOps, AbsurdInput, testing::ValuesIn(AllOpSchemas()), OpName);

}  // namespace
}  // namespace fixpoint
