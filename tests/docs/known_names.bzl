"""Writes down the labels of targets, and the source files that they are made of.

Nothing is built for it: that a label is in the list means that Bazel found its target. (genquery
would do, but it wants every repository that a rule names by default.)
"""

_SourceFiles = provider(fields = ["paths"])

_ATTRS = ["binary", "data", "deps", "hdrs", "srcs", "textual_hdrs"]

def _collect_impl(target, ctx):
    direct = []
    below = []
    for name in _ATTRS:
        value = getattr(ctx.rule.attr, name, None)
        for dep in value if type(value) == "list" else [value]:
            if type(dep) != "Target":
                continue
            if _SourceFiles in dep:
                below.append(dep[_SourceFiles].paths)
            elif not dep.label.workspace_name:
                direct += [file.short_path for file in dep.files.to_list() if file.is_source]
    return [_SourceFiles(paths = depset(direct, transitive = below))]

_collect = aspect(implementation = _collect_impl, attr_aspects = _ATTRS)

def _known_names_impl(ctx):
    targets = ctx.actions.declare_file("known_targets")
    ctx.actions.write(targets, "\n".join([str(target.label) for target in ctx.attr.targets]))
    files = ctx.actions.declare_file("known_files")
    paths = depset(transitive = [target[_SourceFiles].paths for target in ctx.attr.targets])
    ctx.actions.write(files, "\n".join(sorted(paths.to_list())))
    return [DefaultInfo(
        files = depset([targets, files]),
        runfiles = ctx.runfiles(files = [targets, files]),
    )]

known_names = rule(
    implementation = _known_names_impl,
    attrs = {"targets": attr.label_list(aspects = [_collect])},
)
