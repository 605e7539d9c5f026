// Feeds absurd numbers to every op's inference, which must give an answer or an error.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"

namespace fixpoint {
namespace {

constexpr int kRounds = 1000;
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

// Lengths of tensors and lists: mostly those that get past the first check of an image's op.
constexpr int kLengths[] = {0, 1, 2, 2, 3, 4, 4, 4, 5, 6};

class Absurd {
 public:
  explicit Absurd(uint32_t seed) : random_(seed) {}

  VarDesc Variable() {
    VarDesc var;
    var.set_name("x");
    var.mutable_type()->set_type(VarType::LOD_TENSOR);
    auto* tensor = var.mutable_type()->mutable_lod_tensor()->mutable_tensor();
    tensor->set_data_type(VarType::FP32);
    for (int rank = Pick(kLengths); rank > 0; --rank) tensor->add_dims(Pick(kSizes));
    return var;
  }

  void FillAttr(OpDesc::Attr* attr) {
    attr->clear_ints();
    attr->clear_longs();
    attr->clear_floats();
    attr->clear_float64s();
    attr->set_i(Pick(kNumbers));
    attr->set_l(Pick(kSizes));
    attr->set_f(Pick(kReals));
    attr->set_float64(Pick(kReals));
    attr->set_b(Below(2) == 1);
    attr->set_s(Pick(kStrings));
    for (int n = Pick(kLengths); n > 0; --n) {
      attr->add_ints(Pick(kNumbers));
      attr->add_longs(Pick(kSizes));
      attr->add_floats(Pick(kReals));
      attr->add_float64s(Pick(kReals));
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

// The widest type that the verifier takes for one of the schema's type.
AttrType Widened(AttrType type) {
  switch (type) {
    case INT:
      return LONG;
    case INTS:
      return LONGS;
    case FLOAT:
      return FLOAT64;
    case FLOATS:
      return FLOAT64S;
    default:
      return type;
  }
}

void AddSlots(absl::Span<const SlotSchema> slots, Absurd* absurd,
              google::protobuf::RepeatedPtrField<OpDesc::Var>* made) {
  for (const SlotSchema& slot : slots) {
    if (slot.optional && absurd->Below(2) == 0) continue;
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
      made->set_type(absurd.Below(2) == 0 ? attr.type : Widened(attr.type));
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

bool IsList(AttrType type) {
  return type == INTS || type == LONGS || type == FLOATS || type == FLOAT64S || type == BOOLEANS ||
         type == STRINGS;
}

// Fills an attribute of a list type with different values.
void FillList(int size, OpDesc::Attr* attr) {
  for (int i = 1; i <= size; ++i) {
    switch (attr->type()) {
      case INTS:
        attr->add_ints(i);
        break;
      case LONGS:
        attr->add_longs(i);
        break;
      case FLOATS:
        attr->add_floats(static_cast<float>(i));
        break;
      case FLOAT64S:
        attr->add_float64s(i);
        break;
      case BOOLEANS:
        attr->add_bools(true);
        break;
      default:
        attr->add_strings("a");
    }
  }
}

// One argument in each slot that has to be there.
void AddRequiredSlots(absl::Span<const SlotSchema> slots,
                      google::protobuf::RepeatedPtrField<OpDesc::Var>* made) {
  for (const SlotSchema& slot : slots) {
    if (slot.optional) continue;
    OpDesc::Var* var = made->Add();
    var->set_parameter(slot.name);
    var->add_arguments("x");
  }
}

// An algorithm that is quadratic in a list's length would not finish here.
TEST_P(AbsurdInput, TakesLongLists) {
  constexpr int kLength = 200000;
  const OpSchema& schema = *GetParam();
  VarDesc image;
  image.mutable_type()->set_type(VarType::LOD_TENSOR);
  auto* tensor = image.mutable_type()->mutable_lod_tensor()->mutable_tensor();
  tensor->set_data_type(VarType::FP32);
  for (const int dim : {2, 4, 8, 8}) tensor->add_dims(dim);
  const auto find = [&](absl::string_view) { return &image; };
  for (const AttrSchema& attr : schema.attrs()) {
    if (!IsList(attr.type)) continue;
    OpDesc op;
    op.set_type(schema.type());
    AddRequiredSlots(schema.inputs(), op.mutable_inputs());
    AddRequiredSlots(schema.outputs(), op.mutable_outputs());
    OpDesc::Attr* made = op.add_attrs();
    made->set_name(attr.name);
    made->set_type(attr.type);
    FillList(kLength, made);
    // The others that have no default, as they would be.
    for (const AttrSchema& other : schema.attrs()) {
      if (other.name == attr.name || other.default_value) continue;
      OpDesc::Attr* with = op.add_attrs();
      with->set_name(other.name);
      with->set_type(other.type);
      with->set_i(1);
      with->set_f(1);
      if (IsList(other.type)) FillList(1, with);
    }
    const auto outputs = InferOutputs(op, Era::kPaddle2, find);
    EXPECT_TRUE(outputs.ok() || outputs.status().code() == absl::StatusCode::kInvalidArgument)
        << attr.name;
  }
}

constexpr int kManySlots = 20000;

// An op of no type, with slots and attributes that no schema has.
OpDesc OpWithUnknownSlots() {
  OpDesc op;
  for (int i = 0; i < kManySlots; ++i) {
    op.add_inputs()->set_parameter(absl::StrCat("in", i));
    op.add_outputs()->set_parameter(absl::StrCat("in", i, i % 2 == 0 ? "@GRAD" : "Out"));
    *op.add_attrs() = MakeIntAttr(absl::StrCat("attr", i), i);
  }
  return op;
}

// Required slots, those that are lists with as many arguments as there are slots.
void AddLongSlots(absl::Span<const SlotSchema> slots,
                  google::protobuf::RepeatedPtrField<OpDesc::Var>* made) {
  const int first = made->size();
  AddRequiredSlots(slots, made);
  for (int i = first; i < made->size(); ++i) {
    OpDesc::Var& slot = (*made)[i];
    const bool is_list = std::any_of(slots.begin(), slots.end(), [&](const SlotSchema& schema) {
      return schema.list && schema.name == slot.parameter();
    });
    for (int n = 1; is_list && n < kManySlots; ++n) slot.add_arguments("x");
  }
}

// An algorithm that is quadratic in an op's slots and arguments would not finish here.
TEST_P(AbsurdInput, TakesManySlots) {
  static OpDesc* const op = new OpDesc(OpWithUnknownSlots());
  const OpSchema& schema = *GetParam();
  op->set_type(schema.type());
  AddLongSlots(schema.inputs(), op->mutable_inputs());
  AddLongSlots(schema.outputs(), op->mutable_outputs());
  const VarDesc image = MakeTensorVar("x", VarType::FP32, {2, 4, 8, 8});
  const auto outputs = InferOutputs(*op, Era::kPaddle2, [&](absl::string_view) { return &image; });
  EXPECT_TRUE(outputs.ok() || outputs.status().code() == absl::StatusCode::kInvalidArgument);
  op->mutable_inputs()->DeleteSubrange(kManySlots, op->inputs_size() - kManySlots);
  op->mutable_outputs()->DeleteSubrange(kManySlots, op->outputs_size() - kManySlots);
}

std::string OpName(const testing::TestParamInfo<const OpSchema*>& info) {
  return info.param->type();
}

INSTANTIATE_TEST_SUITE_P(AllOps, AbsurdInput, testing::ValuesIn(AllOpSchemas()), OpName);

}  // namespace
}  // namespace fixpoint
