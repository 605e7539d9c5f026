// Messages from protobuf's text format, whatever fields they lack.

#ifndef FIXPOINT_TESTS_TESTING_TEXT_FORMAT_H_
#define FIXPOINT_TESTS_TESTING_TEXT_FORMAT_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace fixpoint {

template <typename Message>
Message FromTextFormat(const std::string& text) {
  Message message;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowPartialMessage(true);
  EXPECT_TRUE(parser.ParseFromString(text, &message)) << text;
  return message;
}

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_TEXT_FORMAT_H_
