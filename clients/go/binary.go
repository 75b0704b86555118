package outtray

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const binaryName = "outtray"

// binary is an executable and the place that named it, for error messages.
type binary struct{ path, source string }

// findBinary looks where a sidecar may be: the option, OUTTRAY_BINARY, the folder of this program, PATH.
// An empty value counts as not set. env is what the sidecar will get, own the path of this program.
func findBinary(option string, env []string, own string) (binary, error) {
	if option != "" {
		return binary{option, "Options.Binary"}, nil
	}
	if path := valueOf(env, "OUTTRAY_BINARY"); path != "" {
		return binary{path, "OUTTRAY_BINARY"}, nil
	}
	if own != "" {
		if path := filepath.Join(filepath.Dir(own), binaryName); isExecutable(path) {
			return binary{path, "the folder of this program"}, nil
		}
	}
	for _, folder := range filepath.SplitList(valueOf(env, "PATH")) {
		if path := filepath.Join(folder, binaryName); folder != "" && isExecutable(path) {
			return binary{path, "PATH"}, nil
		}
	}
	return binary{}, &Error{Code: ErrBinaryMissing, Message: "no sidecar found: set Options.Binary or " +
		"OUTTRAY_BINARY, or put outtray beside this program or on PATH"}
}

// valueOf gives the last value of a variable, which is the one that counts.
func valueOf(env []string, name string) string {
	for at := len(env) - 1; at >= 0; at-- {
		if value := strings.TrimPrefix(env[at], name+"="); value != env[at] {
			return value
		}
	}
	return ""
}

func isExecutable(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.Mode().IsRegular() && stat.Mode().Perm()&0o111 != 0
}

// explainStart says what a failed start was missing. The kernel says "no such file" for an executable that is
// not there, and for one whose loader is not.
func explainStart(b binary, cause error) *Error {
	failure := &Error{Code: ErrSpawn, Err: cause,
		Message: fmt.Sprintf("cannot run %s (from %s): %v", b.path, b.source, cause)}
	if !errors.Is(cause, fs.ErrNotExist) {
		return failure
	}
	if _, err := os.Stat(b.path); err != nil {
		failure.Code = ErrBinaryMissing
		failure.Message = fmt.Sprintf("%s (from %s) does not exist", b.path, b.source)
		return failure
	}
	failure.Code = ErrLoaderMissing
	loader := loaderOf(b.path)
	failure.Message = fmt.Sprintf("%s (from %s) is there, but %s is not: was it built for another system?",
		b.path, b.source, loader)
	return failure
}

// loaderOf names what the kernel would start first: the interpreter of an ELF file or of a script.
func loaderOf(path string) string {
	const unknown = "its loader"
	if file, err := elf.Open(path); err == nil {
		defer file.Close()
		for _, program := range file.Progs {
			if program.Type == elf.PT_INTERP {
				if name, err := io.ReadAll(program.Open()); err == nil {
					return unknown + " " + strings.TrimRight(string(name), "\x00")
				}
			}
		}
		return unknown
	}
	file, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer file.Close()
	line, _ := bufio.NewReader(io.LimitReader(file, 256)).ReadString('\n')
	if words := strings.Fields(strings.TrimPrefix(line, "#!")); strings.HasPrefix(line, "#!") && len(words) > 0 {
		return "its interpreter " + words[0]
	}
	return unknown
}
