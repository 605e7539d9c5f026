"""The flags of code that is optimised in every compilation mode."""

# gcc would take headers that were precompiled without -O3, but for a macro that they name.
OPTIMISED = ["-O3", "-DFIXPOINT_PRECOMPILES_NOTHING"]
