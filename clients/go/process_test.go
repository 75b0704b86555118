package outtray_test

func playSidecar(mode string) {}
