/** A piece of a message that stays unchanged: a block, a text in code marks or quotes, a URL. */
export interface Literal {
  /** The text without its marks. */
  readonly text: string
  readonly raw: string
}

/** One step of a message; each literal stands in `text` as one private-use character. */
export interface Step {
  readonly text: string
  readonly literals: readonly Literal[]
}

const firstMark = 0xe000
const anyMark = /[\ue000-\uf8ff]/g

// Fences, a caller's material (between lines of dashes), code marks, quotes, URLs. Every pattern here is linear in
// any text: an unclosed mark is bounded or ends with the message.
const literal =
  /(?:```[^\n]{0,40}\n|^--- [^\n]{1,200} ---\n)([^]*?)(?:```|\n--- End[^\n]*|$(?![^]))|`([^`]{1,4000})`|(?<![\p{L}\p{N}])"([^"]{1,4000})"|(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}])/gimu

/** Words that begin a new step after a comma or an "and". */
const verbs =
  'add|ask|call|check|count|create|delete|fetch|find|get|give|greet|have|let|list|look|note|open|put|read|recall|record|' +
  'remember|remove|review|run|save|search|send|set|show|store|summari[sz]e|tell|translate|use|write'
const boundary = new RegExp(
  `\\n|(?<=[^\\s.!?][.!?]) |; ?|,?(?: and)? (?:then|finally),? |(?:,? and|,) (?=(?:${verbs})\\b)`,
  'i',
)
const opening =
  /^(?:[-*•] |\(?\d{1,2}[.)] )?(?:(?:hi|hello|please|now|also|and|first|then|next|finally|(?:can|could|would) you)\b[,!:]? ?)*/i
const ending = /(?<![ .!?,;:])[ .!?,;:]+$/

/** Cuts a message into at most 12 things it asks for: lines, sentences, "then", and "and" before a verb. */
export function splitSteps(message: string): readonly Step[] {
  const literals: Literal[] = []
  return message
    .replace(anyMark, ' ')
    .replace(/`(?=\w[\w-]*__[\w-])(\w[\w-]*)`/g, '$1') // a tool's name is no material
    .replace(literal, (raw, ...groups: unknown[]) => {
      if (literals.length === 500) return raw
      literals.push({ raw, text: String(groups.find((one) => typeof one === 'string')).trimEnd() })
      return String.fromCharCode(firstMark + literals.length - 1)
    })
    .replace(/[^\S\n]+/g, ' ')
    .replace(/\n ?(?=[\ue000-\uf8ff] ?$)/gm, ' ') // alone on its line: belongs to the line before
    .split(boundary)
    .map((part) => ({ text: part.trim().replace(opening, '').replace(ending, ''), literals }))
    .filter(({ text }) => text !== '')
    .slice(0, 12)
}

/** The literals of a step, in order. */
export const literalsIn = ({ text, literals }: Step): readonly Literal[] =>
  (text.match(anyMark) ?? []).flatMap((mark) => literals[mark.charCodeAt(0) - firstMark] ?? [])

/** Puts the literals back: without their marks (`text`), or as they were written (`raw`). */
export const unmask = ({ text, literals }: Step, how: keyof Literal = 'text'): string =>
  text.replace(anyMark, (mark) => literals[mark.charCodeAt(0) - firstMark]?.[how] ?? '')
