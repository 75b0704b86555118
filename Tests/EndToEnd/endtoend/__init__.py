"""What the end-to-end tests are made of: the real binary, a scripted server, a real nginx."""
