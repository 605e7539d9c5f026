// What programs are run on: parameters and arrays as a program declares them, and small data sets.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_MADE_DATA_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_MADE_DATA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/wire/program.pb.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/random_program.h"

namespace fixpoint {

// Files by their paths.
using Files = std::map<std::string, std::string>;

// A value for each parameter that the program declares: that of `known` where it has one, else
// random ones, positive where the name tells of a scale. Nothing where they are too many to be made
// and read thousands of times.
std::optional<std::map<std::string, Tensor>> MakeParameters(const ProgramDesc& program,
                                                            const Scope& known, Random* random);

// A combined file `path`.
Files CombinedFile(const std::map<std::string, Tensor>& parameters, const std::string& path);
// A folder with a file for each, but for names that lead elsewhere or are the folders of others.
Files SeparateFiles(const std::map<std::string, Tensor>& parameters, const std::string& folder);

// An array file of elements of that type; open extents get a few elements. Nothing where they are
// too many, or of a type that no array has.
std::optional<std::string> MakeArray(VarType::Type dtype, const std::vector<int64_t>& dims,
                                     Random* random);

// 24 images and labels to train on and 8 to test on, as MNIST's files in `folder`.
Files MakeMnist(const std::string& folder, Random* random);
// 12 and 4 in those of CIFAR-10.
Files MakeCifar10(const std::string& folder, Random* random);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_MADE_DATA_H_
