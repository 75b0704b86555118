"""What a process uses, from /proc."""
import os


def cpu_seconds(process):
    """User and system time so far."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wake_ups(process):
    """Voluntary context switches of all its threads so far."""
    count = 0
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/status", encoding="ascii") as status:
            count += sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
    return count
