// Package misuse holds what must not compile, each line with what the compiler says (B98). A test checks it.
package misuse

import (
	"context"
	"encoding/json"

	"outtray"
)

type vars struct{ N int }

func request(vars) (outtray.Descriptor, error) { return outtray.Descriptor{}, nil }

func parse(json.RawMessage, vars) ([]string, error) { return nil, nil }

func show(_ context.Context, _ string, _ vars, _ outtray.Meta) error { return nil }

func misuse(client *outtray.Client, defined *outtray.Defined[vars], ping *outtray.Defined[outtray.NoVars]) {
	ctx := context.Background()
	defined.Mutate(ctx, 7)      // ERROR cannot use 7
	defined.Mutate(ctx, "text") // ERROR cannot use "text"
	defined.Mutate(ctx)         // ERROR not enough arguments
	defined.Mutate(ctx, nil)    // ERROR cannot use nil
	defined.AddTo(nil, 7)       // ERROR cannot use 7
	ping.Mutate(ctx, vars{})    // ERROR cannot use vars

	_ = outtray.Descriptor{Header: nil}                 // ERROR unknown field Header
	_ = outtray.Descriptor{WifiOnly: "yes"}             // ERROR cannot use "yes"
	_ = outtray.Descriptor{WifiOnly: true}              // ERROR cannot use true
	_ = outtray.Descriptor{ExpiresAt: "soon"}           // ERROR cannot use "soon"
	_ = outtray.Descriptor{Accept: "409"}               // ERROR cannot use "409"
	_ = outtray.Part{Ranges: nil}                       // ERROR unknown field Ranges
	_ = outtray.Range{Begin: 1}                         // ERROR unknown field Begin
	_ = outtray.Range{Start: 1.5}                       // ERROR cannot use 1.5
	_ = outtray.FormField{File: "/f"}                   // ERROR unknown field File
	_ = outtray.Retry{Exempt: nil}                      // ERROR unknown field Exempt
	_ = outtray.Backoff{Base: 1}                        // ERROR unknown field Base
	_ = outtray.TerminalHTTP{Exempt: []string{"404"}}   // ERROR cannot use []string
	_ = outtray.AcceptRule{Status: "409"}               // ERROR cannot use "409"
	_ = outtray.AcceptRule{BodyContains: "x"}           // ERROR unknown field BodyContains
	_ = outtray.TransientRule{Status: 422, MaxRetry: 1} // ERROR unknown field MaxRetry

	outtray.Define(client, outtray.Definition[vars, []string]{Key: "k", Request: request, Response: parse,
		OnSuccess: show, // ERROR cannot use show
	})
	outtray.Define(client, outtray.Definition[[]int, []string]{
		Key:      "k",
		Request:  request, // ERROR cannot use request
		Response: parse,   // ERROR cannot use parse
	})
}
