// What damage can make of a file.

#ifndef FIXPOINT_TESTS_TESTING_DAMAGED_BYTES_H_
#define FIXPOINT_TESTS_TESTING_DAMAGED_BYTES_H_

#include <string>
#include <vector>

namespace fixpoint {

enum class Damage { kCutOff, kBitTurned };

// `bytes` cut off at every byte, or with each of their bits turned.
std::vector<std::string> Damaged(const std::string& bytes, Damage damage);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_DAMAGED_BYTES_H_
