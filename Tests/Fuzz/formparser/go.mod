module formparser

go 1.19
