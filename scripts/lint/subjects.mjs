// Sentences whose subject is a pronoun that names nothing. docs/glossary.md has the nouns to say in its place.

/** Where a clause begins: with its text, after a sign that ends a clause, or after a word that opens one. */
const opening = '(?:^\\s*|[.;:!?—–]["”’)]*\\s+|\\(|\\n\\s*\\n\\s*)'
const joining =
  '(?:,\\s+|\\b(?:and|but|or|that|which|what|whether|if|unless|until|when|while|where|because|since|so|how|why|who|than|as)\\s+)'
/** What follows a pronoun that stands for a thing, and never a number or an adjective (`one row`, `those rows`). */
const going =
  '(?:that|who|which|whose|is|are|was|were|has|have|had|may|might|must|can|cannot|could|will|would|does|do|with|without)'

const patterns = [
  // A relative clause in place of a noun: it is the subject there, wherever the clause stands.
  /\b(?<word>whoever)\b/gi,
  // `Somebody reads it`, `until nobody waits`; not `of somebody`, `gives somebody a key`, `somebody's`.
  new RegExp(
    `(?:${opening}|${joining})(?<word>somebody|someone|nobody|anybody|everybody)(?!['’\\w])`,
    'gi',
  ),
  // `One that waits is read`; not `one of the rows`.
  new RegExp(`${opening}(?<word>one)\\s+${going}\\b`, 'gi'),
  new RegExp(`${opening}(?<word>those)\\s+(?:of|in|from|${going})\\b`, 'gi'),
  // Not a question: `What is a run?`
  new RegExp(`${opening}(?<word>what (?:is|was))\\b(?![^.;!]*\\?)`, 'gi'),
]

/** @returns `{ word, at }` of each refused subject of a text: the pronoun in lower case, and its offset. */
export function refusedSubjects(text) {
  return patterns
    .flatMap((pattern) =>
      [...text.matchAll(pattern)].map(({ 0: match, index, groups: { word } }) => ({
        word: word.toLowerCase(),
        at: index + match.toLowerCase().lastIndexOf(word.toLowerCase()),
      })),
    )
    .toSorted((one, other) => one.at - other.at)
}
