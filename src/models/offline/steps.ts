/** One thing a message asks for, masked. */
export interface Step {
  readonly text: string
  /** It must wait for what stands before it: "then", a numbered list. */
  readonly isOrdered: boolean
}

export const maxSteps = 12

/** What a request may begin with; a comma or an "and" before one of these starts a new step. */
const actionVerbs: readonly string[] =
  `add append ask assign book calculate call change check clear compare compute convert
  count create delete describe download draft echo erase execute explain extract fetch find forget format generate get give greet inspect
  invoke keep list load look lookup make measure monitor move note open parse put query read recall record remember remove
  rename repeat replace retrieve reverse review roll run save schedule search send set show sort start stop store sum summarise summarize tell
  translate try update upload use validate verify watch write`.split(/\s+/)

const verbs = actionVerbs.join('|')
const verbSet: ReadonlySet<string> = new Set(actionVerbs)
const listItem = /^(?:[-*•] |\(?(\d{1,2})[.)] )/
const sentenceEnd = /(?<=[^\s.!?;][.!?]) |; ?/
const sequenceWord = new RegExp(
  '(?:,|,? and)? (?:then|after that|afterwards|finally|next),? (?=\\S)|, (?:then|next) ?',
  'i',
)
const leadingSequence =
  /^(?:and |first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|finally|after that|afterwards|lastly)\b,? ?/i
const joint = new RegExp(`(?:,? and|,|,? but)(?: also)? (?=(?:${verbs})\\b)`, 'i')
const courtesy =
  /^(?:hi|hello|hey|please|kindly|ok(?:ay)?|so|now|also|could you|can you|would you|will you|i want(?: you)? to|i would like(?: you)? to|i'd like(?: you)? to|i need(?: you)? to|you (?:should|must)|let's|help me(?: to)?)\b[,:!]? ?/i

/**
 * Cuts a masked message into the things it asks for: lines, sentences, "then", and "and" before a verb.
 * Linear: blanks are collapsed first, so that no pattern meets a run of them.
 */
export function splitSteps(masked: string): readonly Step[] {
  return masked
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .flatMap(splitLine)
    .map(({ text, isOrdered }) => ({
      text: withoutEnd(withoutCourtesy(text)),
      isOrdered,
    }))
    .filter(({ text }) => text !== '')
    .slice(0, maxSteps)
}

function splitLine(line: string): readonly Step[] {
  const item = listItem.exec(line)
  const body = item ? line.slice(item[0].length) : line
  const isNumbered = item?.[1] !== undefined && item[1] !== '1'
  return body
    .split(sentenceEnd)
    .flatMap((sentence, index) => {
      const [first = '', ...later] = sentence.split(sequenceWord)
      const isOrdered = (isNumbered && index === 0) || startsWithSequence(first)
      return [{ text: first, isOrdered }, ...later.map((text) => ({ text, isOrdered: true }))]
    })
    .flatMap(({ text, isOrdered }) =>
      text
        .split(joint)
        .map((part, index) => ({ text: part.trim(), isOrdered: isOrdered && index === 0 })),
    )
}

const startsWithSequence = (text: string): boolean =>
  /^(?:and )?(?:then|next|finally|after|afterwards|lastly)\b/i.test(text)

function withoutCourtesy(text: string): string {
  let rest = text
  for (let cuts = 0; cuts < 4; cuts += 1) {
    const cut = rest.replace(leadingSequence, '').replace(courtesy, '')
    if (cut === rest) return rest
    rest = cut
  }
  return rest
}

/** Drops what ends a sentence. By hand: a pattern is quadratic in a run of such marks that ends nothing. */
export function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && ' .!?,;:'.includes(text[end - 1] ?? '')) end -= 1
  return text.slice(0, end)
}

/** The verb a step begins with, lowercase; `undefined` if it does not begin with one. */
export function leadVerb(text: string): string | undefined {
  const word = /^[\p{L}]+/u.exec(text)?.[0].toLowerCase()
  return word !== undefined && verbSet.has(word) ? word : undefined
}
