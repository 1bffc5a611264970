/** The two sides of a description: the purpose of a tool, and its stated exclusions. */
export interface SplitDescription {
  readonly positive: string
  readonly excluded: string
}

/**
 * Words that open an exclusion, up to the end of the sentence. Only words that tell the reader not to use the tool:
 * "does not need a key" and "not only" describe the tool itself.
 */
const opening =
  /\b(?:do\s+not|don['’]t|never)\s+use\b|(?<=^|[.;:!?,(\n] ?)(?:not\s+(?:for|intended\s+for|suitable\s+for|meant\s+for)\b)|\bshould\s+not\s+be\s+used\b/giu
/** A dot within a word (`plugin.yaml`, `3.5`) ends no sentence. */
const sentenceEnd = /[.!?;](?=\s|$)|\n\s*\n/gu

/** Linear in the text. */
export function splitExclusions(description: string): SplitDescription {
  const positive: string[] = []
  const excluded: string[] = []
  let at = 0
  for (const { index } of description.matchAll(opening)) {
    if (index < at) continue
    positive.push(description.slice(at, index))
    sentenceEnd.lastIndex = index
    const end = sentenceEnd.exec(description)
    at = end ? end.index + end[0].length : description.length
    excluded.push(description.slice(index, at))
  }
  positive.push(description.slice(at))
  return { positive: positive.join(' '), excluded: excluded.join(' ') }
}
