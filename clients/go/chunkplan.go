package outtray

// ChunkOption sets a size of [ChunkPlan].
type ChunkOption func(*chunkSizes)

type chunkSizes struct{ min, max int64 }

// ChunkMin sets the least length of a range, in bytes, at least 1; default 8 MiB.
func ChunkMin(bytes int64) ChunkOption { return func(s *chunkSizes) { s.min = bytes } }

// ChunkMax sets the length of all ranges but the last, in bytes, at least ChunkMin; default 20 MiB.
func ChunkMax(bytes int64) ChunkOption { return func(s *chunkSizes) { s.max = bytes } }

// ChunkPlan cuts size bytes into ranges for [Descriptor.Parts]: as many of ChunkMax as fit, then the rest; a
// rest under ChunkMin joins the range before it (B99 to B107). The same numbers always give the same plan.
// A size of 0 gives the one range {0, 0} (D9). It fails with [ErrInvalid] on a negative size, a minimum
// under 1, a maximum under the minimum, and on more than 100 000 ranges.
func ChunkPlan(size int64, options ...ChunkOption) ([]Range, error) {
	sizes := chunkSizes{min: limitChunkMin, max: limitChunkMax}
	for _, option := range options {
		option(&sizes)
	}
	switch {
	case size < 0 || size > limitMaxInteger:
		return nil, invalid("size", "must be from 0 to 2^53-1 bytes, got %d", size)
	case sizes.min < 1:
		return nil, invalid("min", "must be at least 1 byte, got %d", sizes.min)
	case sizes.max < sizes.min:
		return nil, invalid("max", "must be at least min, %d, got %d", sizes.min, sizes.max)
	case size/sizes.max > limitMaxRanges:
		return nil, invalid("max", "would make more than %d ranges", int64(limitMaxRanges))
	}
	ranges := make([]Range, 0, size/sizes.max+1)
	start := int64(0)
	for ; size-start >= sizes.max; start += sizes.max {
		ranges = append(ranges, Range{Start: start, End: start + sizes.max})
	}
	rest := size - start
	if last := len(ranges) - 1; last >= 0 && rest < sizes.min {
		ranges[last].End = size
	} else {
		ranges = append(ranges, Range{Start: start, End: size})
	}
	if len(ranges) > limitMaxRanges {
		return nil, invalid("max", "would make more than %d ranges", int64(limitMaxRanges))
	}
	return ranges, nil
}
