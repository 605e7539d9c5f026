// The stamp of a build: what has to be the same in a tool and in a plugin that it loads. A plugin
// carries it as an ELF note, which is read before anything of the plugin runs.

#ifndef FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_STAMP_H_
#define FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_STAMP_H_

#include <google/protobuf/stubs/common.h>

#include <cstdint>

#include "absl/base/config.h"
#include "proto/base/version.h"
#include "transpiler/extensions/headers_checksum.h"

#define FIXPOINT_TEXT_OF(macro) FIXPOINT_TEXT_OF_TOKENS(macro)
#define FIXPOINT_TEXT_OF_TOKENS(tokens) #tokens

// What changes the layout of objects that both sides have, beside the headers.
#ifdef _GLIBCXX_DEBUG
#define FIXPOINT_STAMP_OF_DEBUG_CONTAINERS ", debug containers"
#else
#define FIXPOINT_STAMP_OF_DEBUG_CONTAINERS ""
#endif
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#define FIXPOINT_STAMP_OF_SANITIZER ", address sanitizer"
#else
#define FIXPOINT_STAMP_OF_SANITIZER ""
#endif

#define FIXPOINT_STAMP_OF_COMPILER                                                \
  ", C++ ABI " FIXPOINT_TEXT_OF(__GXX_ABI_VERSION) ", strings " FIXPOINT_TEXT_OF( \
      _GLIBCXX_USE_CXX11_ABI)
#define FIXPOINT_STAMP_OF_LIBRARIES                                                     \
  ", protobuf " FIXPOINT_TEXT_OF(GOOGLE_PROTOBUF_VERSION) ", Abseil " FIXPOINT_TEXT_OF( \
      ABSL_LTS_RELEASE_VERSION)

// "0.1.0 (headers 1f0c..., C++ ABI 1017, strings 1, protobuf 3021012, Abseil 20220623)".
#define FIXPOINT_STAMP                                                                           \
  FIXPOINT_VERSION " (headers " FIXPOINT_HEADERS_CHECKSUM FIXPOINT_STAMP_OF_COMPILER             \
      FIXPOINT_STAMP_OF_LIBRARIES FIXPOINT_STAMP_OF_DEBUG_CONTAINERS FIXPOINT_STAMP_OF_SANITIZER \
                   ")"

namespace fixpoint {

// The name and the type of the note.
inline constexpr char kPluginNoteName[] = "Fixpoint";
inline constexpr uint32_t kPluginNoteType = 1;

// The note as ELF has it, which the linker makes of a section whose name begins with .note.
struct PluginNote {
  uint32_t name_size = sizeof(kPluginNoteName);
  uint32_t stamp_size = sizeof(FIXPOINT_STAMP);
  uint32_t type = kPluginNoteType;
  char name[(sizeof(kPluginNoteName) + 3) / 4 * 4] = "Fixpoint";
  char stamp[(sizeof(FIXPOINT_STAMP) + 3) / 4 * 4] = FIXPOINT_STAMP;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_STAMP_H_
