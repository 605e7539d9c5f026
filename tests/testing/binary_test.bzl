"""A test that runs a program that was linked for something else already."""

def _binary_test_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = program,
        target_file = ctx.executable.binary,
        is_executable = True,
    )
    runfiles = ctx.runfiles(files = ctx.files.data)
    for target in [ctx.attr.binary] + ctx.attr.data:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    return [
        DefaultInfo(executable = program, runfiles = runfiles),
        testing.TestEnvironment(ctx.attr.env),
    ]

binary_test = rule(
    doc = "Passes if the program exits with 0. `args` are its arguments, as of any test.",
    implementation = _binary_test_impl,
    attrs = {
        "binary": attr.label(
            mandatory = True,
            executable = True,
            cfg = "target",
            doc = "A cc_binary or cc_test.",
        ),
        "data": attr.label_list(allow_files = True),
        "env": attr.string_dict(),
    },
    test = True,
)
