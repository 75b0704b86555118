import Glibc

StandardStreams.fillGaps()
exit(CommandLineTool.run(CommandLine.arguments))
