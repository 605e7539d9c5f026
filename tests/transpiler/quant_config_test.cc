#include "transpiler/plan/quant_config.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

std::string ErrorOf(const std::string& text) {
  QuantConfig config;
  EXPECT_TRUE(ParseTextMessage(text, "config", &config).ok());
  return std::string(CheckConfig(config).message());
}

TEST(QuantConfig, ThatIsGoodIsTaken) {
  EXPECT_EQ(ErrorOf(""), "");
  EXPECT_EQ(ErrorOf("also_quantize: 'elementwise_add' weights { axis: 0 }"), "");
}

TEST(QuantConfig, NamesOpTypesThatCanBeQuantized) {
  EXPECT_EQ(ErrorOf("also_quantize: 'elementwise_ad' also_quantize: 'softmax'"),
            "also_quantize: no op of type \"elementwise_ad\" can be quantized; did "
            "you mean elementwise_add?\n"
            "also_quantize: no op of type \"softmax\" can be quantized");
}

TEST(QuantConfig, HasNoNegativeAxis) {
  EXPECT_EQ(ErrorOf("weights { axis: -1 } rules { name: 'head' op_type: 'mul' spec { axis: -2 } }"),
            "weights.axis is -1; want 0 or more\n"
            "head: spec.axis is -2; want 0 or more");
}

TEST(QuantConfig, IsCheckedBeforeAnythingElse) {
  Program program = ParsedProgram("block 0 {\n}\n");
  TranspileOptions options;
  options.config.add_also_quantize("relu");
  const absl::Status status = Transpile(&program, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fixpoint
