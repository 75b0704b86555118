// Formparser reads multipart bodies with Go's standard library, for a fuzzer that wrote them.
//
// On stdin and stdout, numbers big-endian of 32 bits: the length of the boundary, the boundary, the length
// of the body, the body. The answer is its length, then the number of parts, and of each part its name, file
// name, content type and content, each behind its length. A length of 2^32-1 is one that is absent; that
// number of parts is a body that cannot be read.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"runtime"
	"runtime/debug"
)

const absent = 1<<32 - 1

func main() {
	// One thread, and rarely a collection: the forms are small, and there are millions of them.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(2000)
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		boundary, err := next(in)
		if err != nil {
			return
		}
		body, err := next(in)
		if err != nil {
			return
		}
		answer := parse(string(boundary), body)
		out.Write(number(uint32(len(answer))))
		out.Write(answer)
		if out.Flush() != nil {
			return
		}
	}
}

func next(in io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	bytes := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err := io.ReadFull(in, bytes)
	return bytes, err
}

func parse(boundary string, body []byte) []byte {
	source := bytes.NewReader(body)
	reader := multipart.NewReader(source, boundary)
	var parts []byte
	count := uint32(0)
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF && source.Len() == 0 {
			return append(number(count), parts...)
		}
		if err != nil {
			return number(absent)
		}
		content, err := io.ReadAll(part)
		kind, params, failed := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil || failed != nil || kind != "form-data" || len(part.Header) != 2 {
			return number(absent)
		}
		name, hasName := params["name"]
		file, hasFile := params["filename"]
		parts = append(parts, field(name, hasName)...)
		parts = append(parts, field(file, hasFile)...)
		parts = append(parts, field(part.Header.Get("Content-Type"), true)...)
		parts = append(parts, field(string(content), true)...)
		count++
	}
}

func field(text string, isThere bool) []byte {
	if !isThere {
		return number(absent)
	}
	return append(number(uint32(len(text))), text...)
}

func number(value uint32) []byte {
	return []byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}
}
