/// Stands in for each of libFuzzer's looks at a comparison in the program that is linked without them
/// (scripts/fuzz). Their arguments are in registers, so that it may leave them.
@_cdecl("no_look")
func noLook() {}
