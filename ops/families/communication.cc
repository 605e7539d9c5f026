// What enters and leaves a program: feeds, fetches, readers, printing, other machines.

#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {

std::vector<OpSchema> CommunicationOps() {
  OpList ops;
  ops.Define("feed(X) -> (Out)")
      .Doc("Out = item `col` of the feed list X.")
      .Attr("col", Required(INT));
  ops.Define("fetch(X) -> (Out)")
      .Doc("Item `col` of the fetch list Out = X.")
      .Attr("col", Required(INT));
  ops.Define("read(Reader) -> (Out*)")
      .Doc("The next items of a reader.")
      .Attr("throw_eof_exp", Bool(true))
      .Attr("infer_out", Bool(true))
      .Attr("drop_last", Bool(true));
  ops.Define("create_double_buffer_reader(UnderlyingReader) -> (Out)")
      .Doc("A reader that reads ahead.")
      .Attr("place", String("AUTO"));
  ops.Define("print(In) -> (Out)")
      .Doc("Out = In, and prints it.")
      .Attr("first_n", Required(INT))
      .Attr("message", Required(STRING))
      .Attr("summarize", Required(INT))
      .Attr("print_tensor_name", Required(BOOLEAN), Eras::kFluid)
      .Attr("print_tensor_type", Required(BOOLEAN), Eras::kFluid)
      .Attr("print_tensor_shape", Required(BOOLEAN), Eras::kFluid)
      .Attr("print_tensor_lod", Required(BOOLEAN), Eras::kFluid)
      .Attr("print_tensor_name", Bool(true), Eras::kPaddle2)
      .Attr("print_tensor_type", Bool(true), Eras::kPaddle2)
      .Attr("print_tensor_shape", Bool(true), Eras::kPaddle2)
      .Attr("print_tensor_lod", Bool(true), Eras::kPaddle2)
      .Attr("print_tensor_layout", Bool(true), Eras::kPaddle2)
      .Attr("print_phase", String("BOTH"))
      .Attr("is_forward", Bool(true))
      .Infer(SameAs("In", {"Out"}))
      .GradientNotKnown();
  ops.Define("c_allreduce_sum(X, Cond?@2) -> (Out)")
      .Doc("Sum of X over all ranks.")
      .Attr("ring_id", Int(0))
      .Attr("use_calc_stream", Bool(false))
      .Attr("use_model_parallel", Bool(false), Eras::kPaddle2)
      .Infer(SameAs("X", {"Out"}))
      .GradientNotKnown();
  ops.Define("c_broadcast(X) -> (Out)")
      .Doc("Rank root's X.")
      .Attr("ring_id", Int(0))
      .Attr("root", Int(0))
      .Attr("use_calc_stream", Bool(false))
      .Infer(SameAs("X", {"Out"}));
  ops.Define("c_sync_calc_stream(X) -> (Out)")
      .Doc("Waits for computation.")
      .Infer(SameAs("X", {"Out"}));
  ops.Define("c_sync_comm_stream(X@1, X*@2) -> (Out@1, Out*@2)")
      .Doc("Waits for communication.")
      .Attr("ring_id", Int(0))
      .Infer(EachSameAs("X", "Out"));
  ops.Define("c_comm_init_all() -> ()")
      .Doc("Opens a ring of devices.")
      .Attr("devices", Ints({}))
      .Attr("ring_id", Int(0));
  return ops.Build();
}

}  // namespace fixpoint
