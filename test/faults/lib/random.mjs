// Chance that a seed repeats.

/** mulberry32: small, even enough for choosing. */
export function createRandom(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit) => Math.floor(next() * limit)
  return {
    below,
    pick: (list) => list[below(list.length)],
    shuffled(list) {
      const result = [...list]
      for (let index = result.length - 1; index > 0; index -= 1) {
        const other = below(index + 1)
        ;[result[index], result[other]] = [result[other], result[index]]
      }
      return result
    },
  }
}
