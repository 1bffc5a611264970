import { literalsIn, unmask, type Literal } from './literals.ts'
import { lonePronoun } from './parameter-names.ts'
import { leadVerb, withoutEnd } from './steps.ts'

/** The text of one step with what belongs to it. */
export interface Passage {
  /** Masked. */
  readonly text: string
  readonly literals: readonly Literal[]
}

/** What ends a value of several words that stands after its name. */
const boundary =
  /(?:,|;| (?:and|with|under|in|into|to|as|for|from|on|using|via|at|then|by)(?= )| \S{1,40}[=:] ?).*$/i
const articles =
  /^(?:(?:the|a|an|my|our|its?|that) )*(?:(?<=the )(?:text|number|string|words?|following|sentence):? )?(?:(?:key|value|name|file|path|called|named|entry|item):? )*(?=\S)/i

/** As words: literals without their marks, the rest as it stood. */
export function shown(text: string, literals: readonly Literal[]): string {
  return unmask(text, literals, ({ text: inner }) => inner).trim()
}

/** As the person wrote it, marks and all. */
export const asWritten = (text: string, literals: readonly Literal[]): string =>
  unmask(text, literals, ({ raw }) => raw).trim()

/** Has a slash or a file extension. */
export const looksLikePath = (word: string): boolean =>
  /^[\w@~.-]*(?:\/[\w@.-]+)+$|^[\w.-]+\.[a-z][a-z0-9]{0,9}$/i.test(word)

/** Its words say nothing about what is to be done with it. */
export const fileName =
  /(?<=^|\s)[\w./-]{1,200}\.(?:txt|md|json|csv|[cm]?[jt]sx?|py|html|css|ya?ml|toml|log|sh|sql|go|rs|java|rb|php|c|h|cpp|cs)(?=[.!?]{0,3}(?:$|[\s,;:]))/gi

/** A phrase as a value: its one literal if it has one, else its words without articles. */
export function phraseValue(phrase: string, literals: readonly Literal[]): string {
  const inside = literalsIn(phrase, literals)
  if (inside.length === 1 && inside[0]) return inside[0].text
  return withoutEnd(shown(phrase.trim().replace(articles, ''), literals))
}

/** `colour=blue`, `colour: blue`, `colour is blue`, `the colour "blue"`, `with colour blue`. */
export function namedPhrase(name: string, { text, literals }: Passage): string | undefined {
  const spoken = escapeForPattern(
    name.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[_-]/g, ' '),
  ).replaceAll(' ', '[ _-]?')
  if (spoken === '') return undefined
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}_])${spoken}(?<link>=| = |: ?| (?:is|as|to|of|be|equals|named|called) | )(?<rest>\\S.*)$`,
    'iu',
  )
  const found = pattern.exec(text)?.groups
  if (!found?.rest) return undefined
  const { link = '', rest } = found
  const first = /^[\ue000-\uf8ff]/.exec(rest)
  if (first) return phraseValue(first[0], literals)
  if (link.includes('=')) return phraseValue(/^[^\s,;]+/.exec(rest)?.[0] ?? '', literals)
  const phrase = rest.replace(boundary, '')
  return phrase.trim() === '' ? undefined : phraseValue(phrase, literals)
}

/** `colour=blue` or `colour: blue` only: nothing else that is said outranks it. */
export function assignedPhrase(name: string, passage: Passage): string | undefined {
  const isAssigned = new RegExp(
    `(?<![\\p{L}\\p{N}_])${escapeForPattern(name)}(?:=|: ?)\\S`,
    'iu',
  ).test(passage.text)
  return isAssigned ? namedPhrase(name, passage) : undefined
}

/** What a step says about a name and its value: "set A to B", "store B under A", "remember that A is B". */
export function nameAndValue(
  passage: Passage,
): { readonly name: string; readonly value: string } | undefined {
  const { text, literals } = passage
  const space = text.indexOf(' ')
  const verb = (space < 0 ? text : text.slice(0, space)).toLowerCase()
  const rest =
    space < 0 ? '' : text.slice(space + 1).replace(/^(?:that |the value of |value of )/i, '')
  // "kv set colour blue" is "colour blue" by now.
  const [one, two, ...more] = text.split(' ')
  const isBarePair = one && two && more.length === 0 && leadVerb(text) === undefined
  const split = splitFor(verb, rest) ?? (isBarePair ? { name: one, value: two } : undefined)
  if (!split) return undefined
  const name = phraseValue(split.name, literals)
  // "The text" is what came before, not the word.
  const value = lonePronoun.test(split.value) ? split.value : phraseValue(split.value, literals)
  return name === '' || value === '' ? undefined : { name, value }
}

function splitFor(
  verb: string,
  rest: string,
): { readonly name: string; readonly value: string } | undefined {
  const assigned = cutAt(rest, [' = ', '=', ' := '], 'first')
  if (assigned) return { name: assigned[0], value: assigned[1] }
  if (/^(?:set|change|update|make|assign|rename)$/.test(verb)) {
    const cut = cutAt(rest, [' to be ', ' to ', ' as ', ': '], 'first')
    const words = rest.split(' ')
    const pair =
      words.length === 2 && words[0] && words[1] ? { name: words[0], value: words[1] } : undefined
    return cut ? { name: cut[0], value: cut[1] } : pair
  }
  const placed = cutAt(rest, [' under ', ' as ', ' into ', ' in ', ' to ', ' at '], 'last')
  if (placed) return { name: placed[1], value: placed[0] }
  const stated = cutAt(rest, [' is ', ' are ', ': '], 'first')
  return stated && { name: stated[0], value: stated[1] }
}

function cutAt(
  text: string,
  marks: readonly string[],
  which: 'first' | 'last',
): readonly [string, string] | undefined {
  const lower = text.toLowerCase()
  const places = marks
    .map((mark) => ({
      mark,
      at: which === 'first' ? lower.indexOf(mark) : lower.lastIndexOf(mark),
    }))
    .filter(({ at }) => at > 0)
    .toSorted((a, z) =>
      which === 'first' ? a.at - z.at || z.mark.length - a.mark.length : z.at - a.at,
    )
  const place = places[0]
  return place && [text.slice(0, place.at), text.slice(place.at + place.mark.length)]
}

/** Drops "use kv to …" and "… in the kv store": said to choose the tool, not for it. */
export function withoutToolTalk(text: string, tool: string): string {
  if (tool === '') return text
  const owner = tool.includes('__') ? tool.slice(0, tool.indexOf('__')) : tool
  const spoken = [tool, owner]
    .map((name) => escapeForPattern(name).replaceAll(/[_-]+/g, '[ _-]+'))
    .join('|')
  const thing = `(?:the )?(?:${spoken})(?:[ -](?:tool|store|plugin|agent|sub-agent))?(?![\\p{L}\\p{N}_])`
  return text
    .replace(
      new RegExp(
        `^(?:use|call|run|ask|invoke|let|have|with|using) ${thing}(?: tool| agent)?,?:? ?(?:to |for |and |with |on )?`,
        'iu',
      ),
      '',
    )
    .replace(new RegExp(`^${thing}[,:]? (?=\\p{L})`, 'iu'), '')
    .replace(new RegExp(` (?:in|using|with|via|from|by|through) ${thing}`, 'iu'), '')
    .trim()
}

const escapeForPattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
