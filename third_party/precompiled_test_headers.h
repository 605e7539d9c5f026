// What most tests include of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "third_party/precompiled_headers.h"
