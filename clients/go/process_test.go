package outtray_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"outtray"
)

const greeting = `{"server":{"name":"fake","version":"1"},"pid":1,"dir":"/d","role":"owner",` +
	`"capabilities":[],"limits":{"maxLine":67108864,"maxVars":8388608,"maxInFlight":4096,"maxWindow":1024}}`

// playSidecar is what this binary does when OUTTRAY_TEST_ROLE names a role: it greets, and then misbehaves.
func playSidecar(role string) {
	switch role {
	case "locked":
		fmt.Fprintln(os.Stderr, "some log\nouttray: /d is held by process 7")
		os.Exit(75)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "talker":
		fmt.Println("a print that went astray")
		fmt.Println("and another one")
		fmt.Fprintln(os.Stderr, strings.Repeat("log ", 100<<10))
	case "holder":
		// Something that inherited the pipes outlives the sidecar.
		sleeper := exec.Command("sleep", "60")
		sleeper.Stdout, sleeper.Stderr = os.Stdout, os.Stderr
		sleeper.Start()
		os.WriteFile(os.Getenv("OUTTRAY_TEST_FILE"), []byte(fmt.Sprint(sleeper.Process.Pid)), 0o600)
	}
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			break
		}
		var call struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(line, &call)
		switch {
		case role == "deaf":
		case call.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", call.ID, greeting)
		case role == "lastword":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"now":%d}}`+"\n", call.ID, len(line))
			os.Exit(3)
		case role == "mute":
			os.Stdin.Close() // A write to it now breaks.
			fmt.Fprintln(os.Stderr, "closed")
			time.Sleep(time.Minute)
		case role == "silent":
			fmt.Fprintln(os.Stderr, "heard")
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"now":%d}}`+"\n", call.ID, len(line))
		}
	}
	if role == "stubborn" {
		time.Sleep(time.Minute)
	}
	if role == "lingering" {
		fmt.Fprintln(os.Stderr, strings.Join(os.Args[1:], " "))
		os.Stdout.Close()
		for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(os.Getenv("OUTTRAY_TEST_FILE")); err == nil {
				return
			}
		}
	}
}

// play opens a client on this binary in a role.
func play(t *testing.T, role string, change func(*outtray.Options)) (*outtray.Client, *warnings, error) {
	t.Helper()
	noted := &warnings{}
	options := outtray.Options{Dir: t.TempDir(), Binary: os.Args[0], OnWarning: noted.add,
		Env: append(os.Environ(), "OUTTRAY_TEST_ROLE="+role)}
	if change != nil {
		change(&options)
	}
	client, err := outtray.Open(ctx, options)
	if err == nil {
		t.Cleanup(func() { client.Close(ctx) })
	}
	return client, noted, err
}

func mustPlay(t *testing.T, role string, change func(*outtray.Options)) (*outtray.Client, *warnings) {
	t.Helper()
	client, noted, err := play(t, role, change)
	must(t, err)
	return client, noted
}

func TestStart(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	refused := func(t *testing.T, err error, code outtray.Code, words ...string) {
		t.Helper()
		if !errors.Is(err, code) {
			t.Fatalf("wanted %s, got %v", code, err)
		}
		for _, word := range words {
			contains(t, err.Error(), word)
		}
	}
	t.Run("a binary that is missing is told, with the place that named it", func(t *testing.T) {
		_, _, err := play(t, "", func(o *outtray.Options) { o.Binary = "/nowhere/outtray" })
		refused(t, err, outtray.ErrBinaryMissing, "/nowhere/outtray", "Options.Binary")
		_, _, err = play(t, "", func(o *outtray.Options) {
			o.Binary, o.Env = "", []string{"OUTTRAY_BINARY=/nowhere/too", "PATH="}
		})
		refused(t, err, outtray.ErrBinaryMissing, "/nowhere/too", "OUTTRAY_BINARY")
		_, _, err = play(t, "", func(o *outtray.Options) {
			o.Binary, o.Env = "", []string{"OUTTRAY_BINARY=",
				"PATH="}
		})
		refused(t, err, outtray.ErrBinaryMissing, "OUTTRAY_BINARY", "PATH")
	})
	t.Run("a loader that is missing is told from a binary that is", func(t *testing.T) {
		script := file("script", "#!/nowhere/interpreter -x\n", 0o755)
		_, _, err := play(t, "", func(o *outtray.Options) { o.Binary = script })
		refused(t, err, outtray.ErrLoaderMissing, script, "/nowhere/interpreter")
	})
	t.Run("the loader of an ELF file is named", func(t *testing.T) {
		own, err := os.ReadFile(os.Args[0])
		must(t, err)
		moved := bytes.Replace(own, []byte("/lib64/ld-"), []byte("/nolib/ld-"), 1)
		if bytes.Equal(own, moved) {
			t.Skip("this test binary has no loader that could be missing")
		}
		_, _, err = play(t, "", func(o *outtray.Options) { o.Binary = file("elf", string(moved), 0o755) })
		refused(t, err, outtray.ErrLoaderMissing, "/nolib/ld-")
	})
	t.Run("a binary that cannot be run is told from both", func(t *testing.T) {
		_, _, err := play(t, "", func(o *outtray.Options) { o.Binary = file("plain", "text", 0o644) })
		refused(t, err, outtray.ErrSpawn, "permission denied")
	})
	t.Run("PATH is looked through, and only an executable counts", func(t *testing.T) {
		must(t, os.MkdirAll(filepath.Join(folder, "one"), 0o755))
		must(t, os.MkdirAll(filepath.Join(folder, "two"), 0o755))
		file("one/outtray", "text", 0o644)
		must(t, os.Symlink(os.Args[0], filepath.Join(folder, "two/outtray")))
		client, _ := mustPlay(t, "plain", func(o *outtray.Options) {
			o.Binary = ""
			o.Env = append(o.Env, "OUTTRAY_BINARY=", "PATH="+folder+"/one:"+folder+"/two")
		})
		_, err := client.Ping(ctx)
		must(t, err)
	})
	t.Run("a sidecar that gives up at once is told by status and the last line of stderr", func(t *testing.T) {
		_, _, err := play(t, "locked", nil)
		refused(t, err, outtray.ErrLocked, "status 75", "held by process 7")
		refused(t, err, outtray.ErrExited)
		var exit *outtray.ExitError
		equal(t, "is an ExitError", errors.As(err, &exit), true)
		contains(t, exit.Stderr, "some log")
	})
	t.Run("a start whose context ends leaves no process", func(t *testing.T) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := outtray.Open(ended, outtray.Options{Dir: t.TempDir(), Binary: os.Args[0],
			Env: []string{"OUTTRAY_TEST_ROLE=plain"}})
		equal(t, "is canceled", errors.Is(err, context.Canceled), true)
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, err = outtray.Open(short, outtray.Options{Dir: t.TempDir(), Binary: os.Args[0],
			Env: []string{"OUTTRAY_TEST_ROLE=deaf"}})
		equal(t, "is late", errors.Is(err, context.DeadlineExceeded), true)
		equal(t, "children", len(children(t)), 0)
	})
}

func TestProcess(t *testing.T) {
	t.Run("kill -9 with ten calls open: all fail with signal and stderr, and the next call starts another",
		func(t *testing.T) {
			var stderr logText
			client, noted := mustPlay(t, "silent", func(o *outtray.Options) { o.Stderr = &stderr })
			var wait sync.WaitGroup
			for count := 0; count < 10; count++ {
				wait.Add(1)
				go func() {
					defer wait.Done()
					_, err := client.Ping(ctx)
					var exit *outtray.ExitError
					if !errors.As(err, &exit) || exit.Signal != "killed" ||
						!strings.Contains(exit.Stderr, "heard") {
						t.Errorf("got %v", err)
					}
				}()
			}
			eventually(t, "ten calls", func() bool { return strings.Count(stderr.String(), "heard") == 10 })
			must(t, syscall.Kill(child(t), syscall.SIGKILL))
			wait.Wait()
			eventually(t, "warning", func() bool { return noted.with("has ended") == 1 })
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			_, err := client.Ping(short)
			equal(t, "waits for the next", errors.Is(err, context.DeadlineExceeded), true)
		})
	t.Run("an answer that is followed at once by the exit arrives", func(t *testing.T) {
		for round := 0; round < 3; round++ {
			client, _ := mustPlay(t, "lastword", nil)
			_, err := client.Ping(ctx)
			must(t, err)
		}
	})
	t.Run("lines on stdout that are no frames are reported once and skipped; much stderr is drained",
		func(t *testing.T) {
			var copied logText
			client, noted := mustPlay(t, "talker", func(o *outtray.Options) { o.Stderr = &copied })
			_, err := client.Ping(ctx)
			must(t, err)
			equal(t, "warnings", noted.with("stdout of the sidecar"), 1)
			must(t, client.Close(ctx))
			equal(t, "stderr", len(copied.String()), 400<<10+1)
		})
	t.Run("a pipe that breaks while the process lives ends the calls", func(t *testing.T) {
		var stderr logText
		client, _ := mustPlay(t, "mute", func(o *outtray.Options) { o.Stderr = &stderr })
		first := make(chan error)
		go func() {
			_, err := client.Ping(ctx)
			first <- err
		}()
		eventually(t, "a closed stdin", func() bool { return strings.Contains(stderr.String(), "closed") })
		_, err := client.Stats(ctx)
		equal(t, "has ended", errors.Is(err, outtray.ErrExited), true)
		equal(t, "the first too", errors.Is(<-first, outtray.ErrExited), true)
	})
	t.Run("a large burst that nobody reads holds up no other call's end", func(t *testing.T) {
		client, _ := mustPlay(t, "silent", nil)
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		err := client.Cancel(short, strings.Repeat("x", 8<<20))
		equal(t, "ends in time", errors.Is(err, context.DeadlineExceeded), true)
	})
}

// children gives the processes that this one has started.
func children(t *testing.T) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	must(t, err)
	var pids []string
	for _, task := range tasks {
		if text, err := os.ReadFile(task); err == nil { // A thread may have ended meanwhile.
			pids = append(pids, strings.Fields(string(text))...)
		}
	}
	return pids
}

// child gives the one process that this one has started.
func child(t *testing.T) int {
	t.Helper()
	pids := children(t)
	if len(pids) != 1 {
		t.Fatalf("wanted one child, got %v", pids)
	}
	pid, err := strconv.Atoi(pids[0])
	must(t, err)
	return pid
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestEnd(t *testing.T) {
	t.Run("close reaps the process before it returns", func(t *testing.T) {
		client, _ := mustPlay(t, "plain", nil)
		pid := child(t)
		must(t, client.Close(ctx))
		equal(t, "gone", gone(pid), true)
	})
	t.Run("one that ends by no other means is killed; the end of the context hurries that", func(t *testing.T) {
		client, _ := mustPlay(t, "stubborn", nil)
		pid := child(t)
		hurry, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		must(t, client.Close(hurry))
		equal(t, "gone", gone(pid), true)
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("took %v", took)
		}
	})
	t.Run("what inherited the pipes does not hold close up", func(t *testing.T) {
		note := filepath.Join(t.TempDir(), "pid")
		client, _ := mustPlay(t, "holder", func(o *outtray.Options) {
			o.Env = append(o.Env,
				"OUTTRAY_TEST_FILE="+note)
		})
		text, err := os.ReadFile(note)
		must(t, err)
		sleeper := 0
		fmt.Sscan(string(text), &sleeper)
		defer syscall.Kill(sleeper, syscall.SIGKILL)
		must(t, client.Close(ctx))
		equal(t, "the sleeper is gone", gone(sleeper), false)
	})
	t.Run("one that may go on in the background is left alone", func(t *testing.T) {
		end := filepath.Join(t.TempDir(), "end")
		for flag, background := range map[string]outtray.Background{
			"--on-disconnect drain": outtray.Drain, "--on-disconnect stay:2": outtray.Stay(1001 * time.Millisecond)} {
			var stderr logText
			client, _ := mustPlay(t, "lingering", func(o *outtray.Options) {
				o.Background, o.KeepAwake, o.Stderr = background, true, &stderr
				o.Env = append(o.Env, "OUTTRAY_TEST_FILE="+end)
			})
			pid := child(t)
			must(t, client.Close(ctx))
			equal(t, "gone", gone(pid), false)
			contains(t, stderr.String(), flag+" --keep-awake")
			must(t, os.WriteFile(end, nil, 0o600))
			eventually(t, "the end and the reaping", func() bool { return gone(pid) })
			must(t, os.Remove(end))
		}
	})
	t.Run("fifty clients that are opened and closed leave no process", func(t *testing.T) {
		for count := 0; count < 50; count++ {
			client, _ := mustPlay(t, "plain", nil)
			must(t, client.Close(ctx))
		}
		equal(t, "children", len(children(t)), 0)
	})
}
