/** So many of the smallest hashes stand for a text; a text with fewer pairs is compared exactly. */
const sketchSize = 200

/**
 * Two texts with so much in common are nearly the same. Of 6,670 pairs of public skills none has it: the most alike, two
 * of one template, have 0.45. With a tenth of the words changed and a tenth of the lines left out each still has it
 * (decision 0089).
 */
export const nearlySame = 0.5

/** In scripts without blanks between words, each character is a word. */
const word = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]+/gu

/**
 * The sketch of a text for comparisons: the smallest hashes of its pairs of neighbouring words, without case and
 * punctuation. Always the same for the same text.
 */
export function sketchOf(text: string): string {
  const words = text.normalize('NFKC').toLowerCase().match(word) ?? []
  const pairs =
    words.length === 1 ? words : words.slice(1).map((next, at) => `${words[at]} ${next}`)
  const hashes = new Set(pairs.map((pair) => hashOf(pair).toString(36).padStart(7, '0')))
  return [...hashes].toSorted().slice(0, sketchSize).join(' ')
}

/** How much of all pairs of two texts both have, 0 to 1: the Jaccard index, of the smallest hashes of both together. */
export function similarity(one: string, other: string): number {
  const [left, right] = [hashesIn(one), hashesIn(other)]
  let [at, beside, all, both] = [0, 0, 0, 0]
  // Both are sorted; beyond the smallest of both nothing is known of the rest.
  while (all < sketchSize && (at < left.length || beside < right.length)) {
    const [mine, theirs] = [left[at] ?? last, right[beside] ?? last]
    if (mine <= theirs) at += 1
    if (theirs <= mine) beside += 1
    if (mine === theirs) both += 1
    all += 1
  }
  return all === 0 ? 0 : both / all
}

/** Sorts behind every hash. */
const last = '~'
const hashesIn = (sketch: string): readonly string[] => (sketch === '' ? [] : sketch.split(' '))

/** FNV-1a with a last mix, 32 bits: fast, and no secret depends on it. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
