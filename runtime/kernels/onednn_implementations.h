// Which of oneDNN's implementations are used for what. They are told apart by their names, which
// are all that oneDNN says about them: "brgconv:avx512_core_vnni".

#ifndef FIXPOINT_RUNTIME_KERNELS_ONEDNN_IMPLEMENTATIONS_H_
#define FIXPOINT_RUNTIME_KERNELS_ONEDNN_IMPLEMENTATIONS_H_

#include "absl/strings/string_view.h"

namespace fixpoint::kernels {

enum class OnednnUse {
  // Sums of products of codes that are converted to floats: exact where floats hold each.
  kSumsOfCodes,
  // Sums that are stored in INT32, exact however large they are.
  kStoredSumsOfCodes,
  // Sums of floats with an epilogue after them.
  kFloatsWithEpilogue,
  kGradientOfImages,
  // Where the filters step over images whose channels fill no vectors of eight.
  kGradientOfSteppingFilters,
};

bool IsAllowed(OnednnUse use, absl::string_view implementation);

// Goes on to the first of oneDNN's implementations that is allowed. False: there is none.
template <typename Desc>
bool Choose(OnednnUse use, Desc* desc) {
  while (!IsAllowed(use, desc->impl_info_str())) {
    if (!desc->next_impl()) return false;
  }
  return true;
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONEDNN_IMPLEMENTATIONS_H_
