// What stands in for libFuzzer's looks at comparisons in the program that is linked without them
// (scripts/fuzz).

@_cdecl("__wrap___sanitizer_cov_trace_cmp1")
func compare1(_: UInt8, _: UInt8) {}

@_cdecl("__wrap___sanitizer_cov_trace_cmp2")
func compare2(_: UInt16, _: UInt16) {}

@_cdecl("__wrap___sanitizer_cov_trace_cmp4")
func compare4(_: UInt32, _: UInt32) {}

@_cdecl("__wrap___sanitizer_cov_trace_cmp8")
func compare8(_: UInt64, _: UInt64) {}

@_cdecl("__wrap___sanitizer_cov_trace_const_cmp1")
func compareConstant1(_: UInt8, _: UInt8) {}

@_cdecl("__wrap___sanitizer_cov_trace_const_cmp2")
func compareConstant2(_: UInt16, _: UInt16) {}

@_cdecl("__wrap___sanitizer_cov_trace_const_cmp4")
func compareConstant4(_: UInt32, _: UInt32) {}

@_cdecl("__wrap___sanitizer_cov_trace_const_cmp8")
func compareConstant8(_: UInt64, _: UInt64) {}
