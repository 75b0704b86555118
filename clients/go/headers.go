package outtray

import "strings"

// mergeHeaders lays over on top of under. Names match without regard to case, and the spelling of over stays
// (B27 to B29). It gives nil when neither has a field.
func mergeHeaders(under, over map[string]string) map[string]string {
	taken := make(map[string]bool, len(over))
	var merged map[string]string
	put := func(name, value string) {
		if merged == nil {
			merged = map[string]string{}
		}
		merged[name] = value
	}
	for name, value := range over {
		taken[strings.ToLower(name)] = true
		put(name, value)
	}
	for name, value := range under {
		if !taken[strings.ToLower(name)] {
			put(name, value)
		}
	}
	return merged
}
