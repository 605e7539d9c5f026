#include "tests/random/generators.h"

#include <glog/logging.h>

#include <map>
#include <set>
#include <utility>

#include "ops/op_schema.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::random_cases {
namespace {

using GeneratorTable = std::map<std::string, Generator, std::less<>>;

const GeneratorTable& AllGenerators() {
  static const GeneratorTable* const table = [] {
    auto* made = new GeneratorTable();
    for (Generators generators : {
#define FIXPOINT_GENERATORS(family) family##Generators(),
#include "tests/random/all_generators.inc"
#undef FIXPOINT_GENERATORS
         }) {
      for (NamedGenerator& entry : generators) {
        const bool is_new = made->emplace(entry.name, std::move(entry.generator)).second;
        CHECK(is_new) << entry.name << " has two generators";
      }
    }
    return made;
  }();
  return *table;
}

// Whether an op runs a gradient block, which only the backward pass writes: gradients_test.cc of the
// executor compares these.
bool RunsGradientBlock(const OpSchema& schema) {
  const OpSchema* const forward = FindOpSchema(schema.gradient_of());
  return forward != nullptr && forward->FindAttr("sub_block", Era::kPaddle2) != nullptr;
}

// What the cases of a name begin with: itself, or the forward op of a gradient op. "" where there
// are none.
std::string GeneratedName(const std::string& name) {
  if (AllGenerators().count(name) > 0) return name;
  const OpSchema* const schema = FindOpSchema(name);
  if (schema == nullptr || RunsGradientBlock(*schema)) return "";
  if (AllGenerators().count(schema->gradient_of()) == 0) return "";
  return schema->gradient_of();
}

// FNV-1a: the same on every machine.
uint64_t HashOf(const std::string& name) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

bool HasGradientIn(Era era, const std::string& type, const std::string& gradient) {
  for (const GradientSchema& schema : FindOpSchema(type)->gradients()) {
    if (schema.type == gradient && Includes(schema.eras, era)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> AllNames() {
  std::set<std::string> names;
  for (const auto& [name, generator] : AllGenerators()) names.insert(name);
  for (const std::string& type : executor::TypesWithPlan()) {
    if (!GeneratedName(type).empty()) names.insert(type);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> NamesWithoutCases() {
  std::vector<std::string> names;
  for (const std::string& type : executor::TypesWithPlan()) {
    if (RunsGradientBlock(*FindOpSchema(type))) continue;
    if (GeneratedName(type).empty()) names.push_back(type);
  }
  return names;
}

RandomCase MakeCase(const std::string& name, uint64_t seed) {
  const std::string generated = GeneratedName(name);
  CaseMaker maker(HashOf(name) + seed);
  if (generated != name && !HasGradientIn(maker.era(), generated, name)) {
    maker.set_era(maker.is_2x() ? Era::kFluid : Era::kPaddle2);
  }
  AllGenerators().at(generated)(maker);
  RandomCase made = maker.Take();
  if (generated != name) made.gradient = name;
  return made;
}

}  // namespace fixpoint::random_cases
