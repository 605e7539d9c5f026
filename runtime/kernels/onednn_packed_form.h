// The packed form of weights that oneDNN reorders.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONEDNN_PACKED_FORM_H_
#define FIXPOINT_RUNTIME_KERNELS_ONEDNN_PACKED_FORM_H_

#include <string>

#include "absl/strings/string_view.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace fixpoint::kernels {

// Equal for copies of equal elements to equal layouts; "" where a layout holds more than elements
// or cannot be asked for (HasPackedForm::packed_form).
std::string FormOfReordering(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
// The same where sums of weights may follow the elements; `appended` says what decides them.
std::string FormOfReordering(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                             absl::string_view appended);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONEDNN_PACKED_FORM_H_
