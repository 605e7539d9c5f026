"""Real programs, op tables and data sets that stand beside a checkout, where they are there.

They are no part of the project (some have no stated licence). The folder is the one that
FIXPOINT_REFERENCE_DATA names, else `shared` beside the checkout. Where it is absent the file
groups are empty and the tests that want them say that they skip; as a repository rule, so that
its coming and going is seen and a skip is never a stale pass.
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

[filegroup(
    name = folder,
    srcs = glob([folder + "/**"], allow_empty = True),
) for folder in %r]

filegroup(
    name = "op_protos",
    srcs = glob(["op_protos.tsv"], allow_empty = True),
)
"""

_FOLDERS = ["data", "models"]

def _reference_data_impl(ctx):
    named = ctx.os.environ.get("FIXPOINT_REFERENCE_DATA", "")
    root = ctx.path(named) if named else ctx.path(ctx.attr.workspace_file).realpath.dirname.dirname.get_child("shared")
    for name in _FOLDERS + ["op_protos.tsv"]:
        source = root.get_child(name)
        if source.exists:
            ctx.symlink(source, name)
    ctx.file("BUILD.bazel", _BUILD % _FOLDERS)

reference_data = repository_rule(
    implementation = _reference_data_impl,
    attrs = {"workspace_file": attr.label(default = "//:WORKSPACE", allow_single_file = True)},
    configure = True,
    environ = ["FIXPOINT_REFERENCE_DATA"],
    local = True,
)
