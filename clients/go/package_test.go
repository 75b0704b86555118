package outtray_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const uploader = `package main

import (
	"context"
	"fmt"
	"os"

	"outtray"
)

func main() {
	ctx := context.Background()
	client, err := outtray.Open(ctx, outtray.Options{Dir: os.Args[1]})
	if err != nil {
		panic(err)
	}
	done := make(chan int)
	send, err := outtray.Define(client, outtray.Definition[outtray.NoVars, outtray.Response]{
		Key: "file",
		Request: func(outtray.NoVars) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: os.Args[2], Method: "PUT", File: os.Args[3]}, nil
		},
		OnSuccess: func(_ context.Context, answer outtray.Response, _ outtray.NoVars, _ outtray.Meta) error {
			done <- answer.Status
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	if err := client.Configure(ctx, outtray.Settings{}); err != nil {
		panic(err)
	}
	if _, err := send.Mutate(ctx, nil); err != nil {
		panic(err)
	}
	fmt.Println("uploaded", <-done)
	client.Close(ctx)
}
`

// The archive of scripts/package-go in a module of its own, with nothing of this repository and no network.
func TestPackage(t *testing.T) {
	binary, err := filepath.Abs(realBinary(t))
	must(t, err)
	folder := t.TempDir()
	run := func(dir string, env []string, words ...string) string {
		t.Helper()
		command := exec.Command(words[0], words[1:]...)
		command.Dir, command.Env = dir, env
		said, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", words, err, said)
		}
		return string(said)
	}
	var bare []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "OUTTRAY") {
			bare = append(bare, variable)
		}
	}
	run("../..", append(bare, "OUTTRAY="+binary), "scripts/package-go", folder)
	archives, _ := filepath.Glob(filepath.Join(folder, "outtray-go-*.tar.gz"))
	equal(t, "archives", len(archives), 1)
	run(folder, bare, "tar", "xzf", archives[0])
	modules, _ := filepath.Glob(filepath.Join(folder, "outtray-go-*", "go.mod"))
	equal(t, "modules", len(modules), 1)
	module := filepath.Dir(modules[0])
	stat, err := os.Stat(filepath.Join(module, "bin", "outtray"))
	must(t, err)
	equal(t, "mode", fmt.Sprint(stat.Mode()), "-rwxr-xr-x")

	app := filepath.Join(folder, "app")
	must(t, os.Mkdir(app, 0o700))
	goMod := "module app\n\ngo 1.19\n\nrequire outtray v0.1.0\n\nreplace outtray => " + module + "\n"
	must(t, os.WriteFile(filepath.Join(app, "go.mod"), []byte(goMod), 0o600))
	must(t, os.WriteFile(filepath.Join(app, "main.go"), []byte(uploader), 0o600))
	run(app, append(bare, "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off"), "go", "build", "-o", "app", ".")
	run(app, bare, "cp", filepath.Join(module, "bin", "outtray"), app)

	body := strings.Repeat("the file ", 50000)
	file := filepath.Join(folder, "body")
	must(t, os.WriteFile(file, []byte(body), 0o600))
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		content, _ := io.ReadAll(request.Body)
		got <- request.Method + string(content)
		answer.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	equal(t, "output", run(app, bare, "./app", "queue", server.URL, file), "uploaded 201\n")
	equal(t, "body is the file", <-got == "PUT"+body, true)
}
