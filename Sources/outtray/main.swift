import Glibc

StandardStreams.fillGaps()
CoreFiles.forbid()
exit(CommandLineTool.run(CommandLine.arguments))
