import { stemOf } from './stemmer.ts'

/** A query longer than this says nothing more: the rest is left out, which bounds the work. */
export const maxQueryChars = 8_192

// Words that say nothing about which tool is meant. Left out of queries only, where that finds more (measured:
// bench/search/run.ts).
const stopWords: ReadonlySet<string> = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by
  can cannot could did do does doing don down during each few for from further had has have having he her here hers
  him his how i if in into is it its itself just let ll me more most my myself no nor not now of off on once only or
  other our ours out over own please re s same shall she should so some such t than that the their theirs them then
  there these they this those through to too under until up us ve very was we were what when where which while who
  whom why will with would you your yours d m
  additionally also could give help hi hello i'd i'm im like love need planning provide tell thank thanks want wondering
  interested looking know great using`.split(/\s+/),
)

// A run of one kind: letters of scripts that are written without blanks, Korean syllables, Latin letters, any other
// letters, digits, or one emoji. Where a script goes over into another, a word ends: `VPN接続`, `GitHub에서`.
const unspacedLetter = String.raw`[\p{L}\p{M}\u3007]&&[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{Script=Yi}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tai_Le}\p{Script=New_Tai_Lue}\p{Script=Tai_Tham}\p{Script=Tai_Viet}\p{Script=Javanese}\p{Script=Balinese}\p{Script=Cham}]`
const latinRun = String.raw`[[\p{L}\p{M}]&&\p{Script=Latin}]+`
const otherRun = String.raw`[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Hangul}[${unspacedLetter}]]]+`
const emoji = String.raw`\p{Regional_Indicator}{2}|[\p{Extended_Pictographic}\u2600-\u27bf]`
const tokenPattern = new RegExp(
  String.raw`[${unspacedLetter}]+|\p{Script=Hangul}+|${latinRun}|${otherRun}|\p{N}+|${emoji}`,
  'gv',
)
const isUnspaced = new RegExp(`^[${unspacedLetter}]`, 'v')
const isHangul = /^\p{Script=Hangul}/u
const isHan = /^\p{Script=Han}/u
/** A Korean word of one syllable with a particle behind it: 책을, 집에서. */
const withParticle = /^.(?:[은는이가을를에의도로와과만]|에서|에게|으로|까지|부터|하고)$/u

/**
 * The index terms of a text: `getIssueById` and `get_issue-by id` give the same four stems.
 *
 * A compound is kept whole beside its parts, so that `github` finds `GitHub`. A run without blanks has as terms its
 * letters and each pair of neighbours. There is no dictionary, so that index and query always agree.
 */
export function termsOf(text: string): string[] {
  return wordsOf(text).map(stemOf)
}

/** The same for many texts: each run of letters is looked at once. */
export function createTermReader(): (text: string) => string[] {
  const known = new Map<string, readonly string[]>()
  return (text) => {
    const terms: string[] = []
    for (const run of runsOf(text)) {
      let own = known.get(run)
      if (!own) known.set(run, (own = wordsOfRun(run).map(stemOf)))
      for (const term of own) terms.push(term)
    }
    return terms
  }
}

/** The query's distinct terms with the word each came from. Only stop words: all of them, rather than nothing. */
export function queryTerms(query: string): ReadonlyMap<string, string> {
  const words = runsOf(query.slice(0, maxQueryChars)).flatMap(askedOfRun)
  const telling = words.filter((word) => !stopWords.has(word))
  return new Map((telling.length > 0 ? telling : words).map((word) => [stemOf(word), word]))
}

/** A query's sentences: the end of one, a line or a list's item. A dot within a word ends none. */
export function sentencesOf(query: string): readonly string[] {
  return query
    .slice(0, maxQueryChars)
    .split(/[.!?;](?=\s)|\n/u)
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
}

/** A clause of fewer telling words goes on: "the price and the size of it" is one. */
const minClauseTerms = 4
const joint = /[,:]|\b(?:and|then|as well as)\b/iu

/** A query's sentences, cut at commas and conjunctions where enough was said before. Linear in the text. */
export function clausesOf(query: string): readonly string[] {
  return sentencesOf(query)
    .flatMap((sentence) => {
      const clauses: string[][] = []
      let said = new Set<string>()
      for (const piece of sentence.split(joint)) {
        if (clauses.length === 0 || said.size >= minClauseTerms) {
          clauses.push([])
          said = new Set()
        }
        clauses.at(-1)?.push(piece)
        for (const term of queryTerms(piece).keys()) said.add(term)
      }
      return clauses.map((pieces) => pieces.join(' '))
    })
    .filter((clause) => /\p{L}{3}/u.test(clause))
}

/** Lowercase words; a compound beside its parts. */
export function wordsOf(text: string): string[] {
  return runsOf(text).flatMap(wordsOfRun)
}

const runsOf = (text: string): readonly string[] => plainLetters(text).match(tokenPattern) ?? []

function wordsOfRun(run: string): readonly string[] {
  if (isUnspaced.test(run) || isHangul.test(run)) {
    const letters = lettersOf(run)
    return letters.concat(pairsOf(letters))
  }
  const parts = camelParts(run)
  return [...parts, ...(parts.length > 1 ? [run] : [])].map((word) => word.toLowerCase())
}

/** The terms of a query's run: its pairs, and single letters that are words. */
function askedOfRun(run: string): readonly string[] {
  const isSyllables = isHangul.test(run)
  if (!isSyllables && !isUnspaced.test(run)) return wordsOfRun(run)
  const letters = lettersOf(run)
  if (letters.length === 1) return letters
  const words = isSyllables
    ? letters.slice(0, withParticle.test(run) ? 1 : 0)
    : letters.filter((letter) => isHan.test(letter))
  return [...pairsOf(letters), ...words]
}

/** The letters of a run, each with its vowel and tone signs. */
const lettersOf = (run: string): readonly string[] =>
  /\p{M}/u.test(run) ? (run.match(/\P{M}\p{M}*|\p{M}+/gu) ?? []) : Array.from(run)

const pairsOf = (letters: readonly string[]): readonly string[] =>
  letters.slice(1).map((letter, at) => letters[at]! + letter)

// A query may leave accents and points out; vowel signs, and what makes パ of ハ, are letters of their own.
const accents =
  /[[\p{M}&&[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}]]--[\u3099\u309a]]+/gv

// Most texts have ASCII alone, which is plain.
const plainLetters = (text: string): string =>
  /[^\0-\x7f]/.test(text) ? text.normalize('NFKD').replace(accents, '').normalize('NFC') : text

/** Whether a term stands for two letters side by side, each of which is a term as well: it makes no text longer. */
export const isPair = (term: string): boolean =>
  (isUnspaced.test(term) || isHangul.test(term)) && /^\P{M}\p{M}*\P{M}/u.test(term)

/** `HTTPServerError` → `HTTP`, `Server`, `Error`. */
function camelParts(run: string): readonly string[] {
  if (!/\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u.test(run)) return [run]
  return run
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .split(' ')
}
