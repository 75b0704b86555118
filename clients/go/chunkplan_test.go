package outtray_test

import (
	"fmt"
	"testing"

	"outtray"
)

func plan(t *testing.T, size int64, options ...outtray.ChunkOption) []outtray.Range {
	t.Helper()
	ranges, err := outtray.ChunkPlan(size, options...)
	must(t, err)
	return ranges
}

func TestChunkPlan(t *testing.T) {
	const mib = 1 << 20
	small := []outtray.ChunkOption{outtray.ChunkMin(8), outtray.ChunkMax(20)}
	shown := func(size int64) string { return fmt.Sprint(plan(t, size, small...)) }

	t.Run("B99: the same numbers give the same plan", func(t *testing.T) {
		equal(t, "plan", shown(77), shown(77))
	})
	t.Run("B100: ranges of max, until all is covered; 8 and 20 MiB by default", func(t *testing.T) {
		equal(t, "plan", shown(50), "[{0 20} {20 40} {40 50}]")
		equal(t, "default", fmt.Sprint(plan(t, 50*mib)), fmt.Sprint([]outtray.Range{
			{Start: 0, End: 20 * mib}, {Start: 20 * mib, End: 40 * mib}, {Start: 40 * mib, End: 50 * mib}}))
		equal(t, "default min", len(plan(t, 28*mib-1)), 1)
	})
	t.Run("B101: an exact multiple gives equal ranges", func(t *testing.T) {
		equal(t, "plan", shown(40), "[{0 20} {20 40}]")
	})
	t.Run("B102: a rest of min - 1 joins the range before it", func(t *testing.T) {
		equal(t, "plan", shown(47), "[{0 20} {20 47}]")
	})
	t.Run("B103: a rest of min stands by itself", func(t *testing.T) {
		equal(t, "plan", shown(48), "[{0 20} {20 40} {40 48}]")
	})
	t.Run("B104: less than min, a single byte too, is one range", func(t *testing.T) {
		equal(t, "plan", shown(7), "[{0 7}]")
		equal(t, "plan", shown(1), "[{0 1}]")
	})
	t.Run("B105, D9: a negative size is refused, 0 is one empty range", func(t *testing.T) {
		_, err := outtray.ChunkPlan(-1)
		refusedAt(t, err, "size")
		_, err = outtray.ChunkPlan(1 << 60)
		refusedAt(t, err, "size")
		equal(t, "plan", shown(0), "[{0 0}]")
	})
	t.Run("B106: min of 0, max under min, and too many ranges are refused", func(t *testing.T) {
		_, err := outtray.ChunkPlan(10, outtray.ChunkMin(0))
		refusedAt(t, err, "min")
		_, err = outtray.ChunkPlan(10, outtray.ChunkMin(9), outtray.ChunkMax(8))
		refusedAt(t, err, "max")
		_, err = outtray.ChunkPlan(100001, outtray.ChunkMin(1), outtray.ChunkMax(1))
		refusedAt(t, err, "max")
		equal(t, "ranges", len(plan(t, 100000, outtray.ChunkMin(1), outtray.ChunkMax(1))), 100000)
	})
	t.Run("B107: all sizes to ten times max: gapless, complete, none under min, all but the last max",
		func(t *testing.T) {
			for size := int64(1); size <= 200; size++ {
				ranges := plan(t, size, small...)
				covered := int64(0)
				for at, one := range ranges {
					length := one.End - one.Start
					last := at == len(ranges)-1
					if one.Start != covered || !last && length != 20 || len(ranges) > 1 && length < 8 || length > 27 {
						t.Fatalf("size %d: %v", size, ranges)
					}
					covered = one.End
				}
				equal(t, "covered", covered, size)
			}
		})
}
