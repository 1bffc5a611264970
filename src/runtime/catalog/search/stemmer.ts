// Porter's stemmer (M. F. Porter, "An algorithm for suffix stripping", Program 14/3, 1980). FTS5's `porter` tokenizer
// uses the same, so that both indexes give the same stems.

type Rule = readonly [suffix: string, replacement: string]

const step2Rules: readonly Rule[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['entli', 'ent'],
  ['ousli', 'ous'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['abli', 'able'],
  ['alli', 'al'],
  ['ator', 'ate'],
  ['logi', 'log'],
  ['eli', 'e'],
]

const step3Rules: readonly Rule[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]

const step4Suffixes = [
  'ement', 'ance', 'ence', 'able', 'ible', 'ment', 'ant', 'ent', 'ion',
  'ism', 'ate', 'iti', 'ous', 'ive', 'ize', 'al', 'er', 'ic', 'ou',
] // prettier-ignore

/** The stem of a lowercase word. Words with anything but a–z come back as they are; linear in the word. */
export function stemOf(word: string): string {
  if (word.length < 3 || word.length > 64 || !/^[a-z]+$/.test(word)) return word
  return step5(step4(replaceFirst(replaceFirst(step1(word), step2Rules), step3Rules)))
}

function step1(word: string): string {
  let stem = word
  if (stem.endsWith('sses') || stem.endsWith('ies')) stem = stem.slice(0, -2)
  else if (stem.endsWith('s') && !stem.endsWith('ss')) stem = stem.slice(0, -1)

  if (stem.endsWith('eed')) {
    if (measure(stem.slice(0, -3)) > 0) stem = stem.slice(0, -1)
  } else {
    const suffix = stem.endsWith('ed') ? 2 : stem.endsWith('ing') ? 3 : 0
    if (suffix > 0 && hasVowel(stem.slice(0, -suffix))) stem = tidy(stem.slice(0, -suffix))
  }
  return stem.endsWith('y') && hasVowel(stem.slice(0, -1)) ? `${stem.slice(0, -1)}i` : stem
}

/** The end of step 1b, after it removed `ed` or `ing`: conflat → conflate, hopp → hop, fil → file. */
function tidy(stem: string): string {
  if (stem.endsWith('at') || stem.endsWith('bl') || stem.endsWith('iz')) return `${stem}e`
  if (endsDouble(stem) && !/[lsz]$/.test(stem)) return stem.slice(0, -1)
  return measure(stem) === 1 && endsCvc(stem) ? `${stem}e` : stem
}

/** The longest suffix that matches decides, whether or not it may be replaced. */
function replaceFirst(word: string, rules: readonly Rule[]): string {
  const rule = rules.find(([suffix]) => word.endsWith(suffix))
  if (!rule) return word
  const stem = word.slice(0, -rule[0].length)
  return measure(stem) > 0 ? stem + rule[1] : word
}

function step4(word: string): string {
  const suffix = step4Suffixes.find((end) => word.endsWith(end))
  if (suffix === undefined) return word
  const stem = word.slice(0, -suffix.length)
  const isAllowed = suffix !== 'ion' || stem.endsWith('s') || stem.endsWith('t')
  return isAllowed && measure(stem) > 1 ? stem : word
}

function step5(word: string): string {
  let stem = word
  if (stem.endsWith('e')) {
    const cut = stem.slice(0, -1)
    const size = measure(cut)
    if (size > 1 || (size === 1 && !endsCvc(cut))) stem = cut
  }
  return stem.endsWith('ll') && measure(stem) > 1 ? stem.slice(0, -1) : stem
}

function isConsonant(word: string, index: number): boolean {
  const letter = word[index] ?? ''
  if ('aeiou'.includes(letter)) return false
  if (letter !== 'y') return true
  // A `y` is a consonant at the start and after a vowel. A run of y's alternates, so walk to its start.
  let start = index
  while (start > 0 && word[start - 1] === 'y') start -= 1
  const isFirstConsonant = start === 0 || 'aeiou'.includes(word[start - 1] ?? '')
  return isFirstConsonant === ((index - start) % 2 === 0)
}

/** How many times a vowel run is followed by a consonant run. */
function measure(stem: string): number {
  let count = 0
  let wasVowel = false
  for (let index = 0; index < stem.length; index += 1) {
    const isVowel = !isConsonant(stem, index)
    if (wasVowel && !isVowel) count += 1
    wasVowel = isVowel
  }
  return count
}

function hasVowel(stem: string): boolean {
  for (let index = 0; index < stem.length; index += 1) if (!isConsonant(stem, index)) return true
  return false
}

function endsDouble(stem: string): boolean {
  const last = stem.length - 1
  return last > 0 && stem[last] === stem[last - 1] && isConsonant(stem, last)
}

/** Ends consonant, vowel, consonant, the last one not w, x or y. */
function endsCvc(stem: string): boolean {
  const last = stem.length - 1
  return (
    last >= 2 &&
    isConsonant(stem, last) &&
    !isConsonant(stem, last - 1) &&
    isConsonant(stem, last - 2) &&
    !/[wxy]$/.test(stem)
  )
}
