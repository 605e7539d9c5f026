#include "proto/base/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace fixpoint {
namespace {

std::string JsonString(absl::string_view value) { return JsonWriter().String(value).Take(); }

TEST(JsonWriter, IndentsObjectsAndArrays) {
  JsonWriter json;
  json.BeginObject();
  json.Key("empty").BeginArray().EndArray();
  json.Key("nothing").BeginObject().EndObject();
  json.Key("list").BeginArray().Int(1).Bool(true).Bool(false);
  json.BeginObject().Key("name").String("x").EndObject();
  json.EndArray();
  json.EndObject();
  EXPECT_EQ(json.Take(), R"({
  "empty": [],
  "nothing": {},
  "list": [
    1,
    true,
    false,
    {
      "name": "x"
    }
  ]
}
)");
}

TEST(JsonWriter, PutsALineIntoALine) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject().Key("step").Int(3).Key("loss").Double(0.125);
  json.Key("sizes").BeginArray().Int(1).Int(2).EndArray().EndObject();
  EXPECT_EQ(json.Take(), "{\"step\": 3, \"loss\": 0.125, \"sizes\": [1, 2]}\n");
}

TEST(JsonWriter, TellsFloatsApart) {
  EXPECT_EQ(JsonWriter().Double(0.1f).Take(), "0.100000001\n");
  EXPECT_EQ(JsonWriter().Double(-1e30).Take(), "-1e+30\n");
  EXPECT_EQ(JsonWriter().Double(std::numeric_limits<double>::infinity()).Take(), "null\n");
}

TEST(JsonWriter, WritesAFloatWithTheFewestDigits) {
  EXPECT_EQ(JsonWriter().Float(0.1f).Take(), "0.1\n");
  EXPECT_EQ(JsonWriter().Float(16777216.0f).Take(), "16777216\n");
  EXPECT_EQ(JsonWriter().Float(std::numeric_limits<float>::denorm_min()).Take(), "1e-45\n");
  EXPECT_EQ(JsonWriter().Float(std::numeric_limits<float>::quiet_NaN()).Take(), "null\n");
}

TEST(JsonWriter, WritesEveryInteger) {
  EXPECT_EQ(JsonWriter().Int(std::numeric_limits<int64_t>::min()).Take(), "-9223372036854775808\n");
}

TEST(JsonWriter, EscapesWhatAStringCannotHold) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01/"), "\"a\\\"b\\\\c\\u000a\\u0001/\"\n");
  EXPECT_EQ(JsonString(std::string(1, '\0')), "\"\\u0000\"\n");
}

TEST(JsonWriter, KeepsUtf8AndReplacesWhatIsNot) {
  EXPECT_EQ(JsonString("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\n");
  const struct {
    const char* bytes;
    const char* json;
  } kCases[] = {
      {"\xff", "\"\xef\xbf\xbd\"\n"},                  // never a lead
      {"a\x80z", "\"a\xef\xbf\xbdz\"\n"},              // a lone continuation
      {"\xc3", "\"\xef\xbf\xbd\"\n"},                  // cut off
      {"\xc3z", "\"\xef\xbf\xbdz\"\n"},                // not continued
      {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"},  // longer than it need be
      {"\xe0\x80\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"},
      {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"},  // a surrogate
      {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"},
  };
  for (const auto& c : kCases) EXPECT_EQ(JsonString(c.bytes), c.json);
}

}  // namespace
}  // namespace fixpoint
