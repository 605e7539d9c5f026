#include "tests/testing/gzip_bytes.h"

#include <glog/logging.h>
#include <zlib.h>

namespace fixpoint {

std::string GzipBytes(absl::string_view bytes) {
  z_stream stream = {};
  CHECK_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
           Z_OK);
  std::string gzipped(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(&gzipped[0]);
  stream.avail_out = static_cast<uInt>(gzipped.size());
  CHECK_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  gzipped.resize(gzipped.size() - stream.avail_out);
  CHECK_EQ(deflateEnd(&stream), Z_OK);
  return gzipped;
}

}  // namespace fixpoint
