// ping WINDOW COUNT COMMAND...: so many pings to COMMAND, at most WINDOW of them unanswered.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"time"
)

type ping struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	window, count := must(strconv.Atoi(os.Args[1])), must(strconv.Atoi(os.Args[2]))
	child := exec.Command(os.Args[3], os.Args[4:]...)
	child.Stderr = os.Stderr
	pipe, out := must(child.StdinPipe()), bufio.NewReaderSize(must(child.StdoutPipe()), 1<<16)
	in := bufio.NewWriterSize(pipe, 1<<16)
	if err := child.Start(); err != nil {
		log.Fatal(err)
	}
	asked, took := make([]time.Time, count), make([]float64, 0, count)
	began := time.Now()
	for sent := 0; len(took) < count; {
		for ; sent < count && sent < len(took)+window; sent++ {
			asked[sent] = time.Now()
			must(in.Write(append(must(json.Marshal(ping{"2.0", sent, "ping"})), '\n')))
		}
		if err := in.Flush(); err != nil {
			log.Fatal(err)
		}
		var answer struct{ ID int }
		if err := json.Unmarshal(must(out.ReadBytes('\n')), &answer); err != nil {
			log.Fatal(err)
		}
		took = append(took, time.Since(asked[answer.ID]).Seconds())
	}
	whole := time.Since(began).Seconds()
	pipe.Close()
	if err := child.Wait(); err != nil {
		log.Fatal(err)
	}
	sort.Float64s(took)
	fmt.Printf(`{"count":%d,"seconds":%.9f,"p50":%.9f,"p99":%.9f}`+"\n",
		count, whole, took[count/2], took[count*99/100])
}
