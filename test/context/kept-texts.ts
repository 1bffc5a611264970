import { normalise, type Fact } from './types.ts'

/** What one `isola__read_output` answers with: a page, or so many matches with so much around each. */
const pageChars = 16_000
const maxMatches = 20
const aroundChars = 120

interface KeptText {
  readonly text: string
  /** In lower case, as it is searched. */
  readonly lower: string
  /** Whole, and its first page, as strings are looked for. */
  readonly whole: string
  readonly firstPage: string
  readonly known: Map<Fact, boolean>
}

/** The texts behind handles, and what one read of them would show to an agent that does not know the answer. */
export function createKeptTexts() {
  const kept = new Map<string, KeptText>()
  const namedIn = (windowText: string): readonly KeptText[] => {
    const words = new Set(
      (windowText.match(/[\w.:-]+/g) ?? []).flatMap((word) => [word, word.replace(/[.:-]+$/, '')]),
    )
    return [...kept].flatMap(([handle, one]) => (words.has(handle) ? [one] : []))
  }
  return {
    keep: (text: string, handle = `kept.${kept.size + 1}`): string => {
      if (!/^[\w.:-]*\w$/.test(handle)) throw new Error(`"${handle}" is no handle.`)
      const whole = normalise(text)
      const firstPage = text.length > pageChars ? normalise(text.slice(0, pageChars)) : whole
      kept.set(handle, { text, lower: text.toLowerCase(), whole, firstPage, known: new Map() })
      return handle
    },
    /** The texts whose handle stands in a window. */
    namedIn,
    /** Whether the first page of it, or a search for the cue, shows all strings of a fact together. */
    shows(one: KeptText, fact: Fact): boolean {
      const before = one.known.get(fact)
      if (before !== undefined) return before
      const strings = fact.strings.map(normalise)
      const hasAll = (text: string) => strings.every((wanted) => text.includes(wanted))
      const found =
        hasAll(one.firstPage) ||
        (hasAll(one.whole) && searchOf(one, fact.cue).some((match) => hasAll(normalise(match))))
      one.known.set(fact, found)
      return found
    },
  }
}

function searchOf({ text, lower }: KeptText, query: string): readonly string[] {
  const wanted = query.toLowerCase()
  const matches: string[] = []
  let at = lower.indexOf(wanted)
  for (; at >= 0 && matches.length < maxMatches; at = lower.indexOf(wanted, at + wanted.length))
    matches.push(text.slice(Math.max(0, at - aroundChars), at + wanted.length + aroundChars))
  return matches
}
