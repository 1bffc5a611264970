import { RegExpParser, type AST } from '@eslint-community/regexpp'

/** A text by its length: what leads into a part of a pattern, what is repeated there, and what ends the match. */
export interface Run {
  readonly prefix: string
  readonly pump: string
  readonly suffix: string
}

export const textOf = ({ prefix, pump, suffix }: Run, chars: number): string =>
  prefix + pump.repeat(Math.ceil(chars / pump.length)) + suffix

/** Repeats of an element count as endless from here on. */
const manyTimes = 50
const maxPumps = 14

/**
 * Texts that a pattern may take long for: runs of each character that it names, and of what leads to each of its
 * repeats, behind that, with an end that does not match.
 */
export function runsOf(regex: RegExp): readonly Run[] {
  const pattern = parse(regex)
  const named = namedIn(regex)
  const prefixes = new Map<string, ReadonlySet<string>>([['', new Set()]])
  for (const [prefix, element] of repeatsIn(pattern)) {
    const pumps = new Set([...(prefixes.get(prefix) ?? []), exampleOf(element)])
    if (prefix !== '') pumps.add(prefix)
    if (prefix !== '') pumps.add(prefix + exampleOf(element))
    prefixes.set(prefix, pumps)
  }
  const whole = exampleOf(pattern)
  const suffixes = ['\u0001', '', 'x!', ...(whole === '' ? [] : [whole.slice(-1)])]
  return [...prefixes].flatMap(([prefix, own]) =>
    [...new Set([...named, ...own, whole.slice(0, -1), whole])]
      .filter((pump) => pump !== '')
      .flatMap((pump) => [...new Set(suffixes)].map((suffix) => ({ prefix, pump, suffix }))),
  )
}

const parse = ({ source, flags }: RegExp): AST.Pattern =>
  new RegExpParser({ ecmaVersion: 2025 }).parsePattern(source, 0, source.length, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  })

/** The characters that a pattern names, and some of each class. */
export const namedIn = (regex: RegExp): readonly string[] =>
  [...new Set(charactersIn(parse(regex)))].slice(0, maxPumps)

type Node = AST.Pattern | AST.Alternative | AST.Element

/** The parts of what is a sequence or a choice. */
function partsOf(node: Node): readonly (readonly AST.Element[])[] {
  switch (node.type) {
    case 'Pattern':
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives.map(({ elements }) => elements)
    case 'Assertion':
      return node.kind === 'lookahead' || node.kind === 'lookbehind'
        ? node.alternatives.map(({ elements }) => elements)
        : []
    case 'Alternative':
      return [node.elements]
    default:
      return []
  }
}

/** Each element that is repeated without end, with a text that leads to it. */
function repeatsIn(node: Node, prefix = ''): readonly (readonly [string, AST.Element])[] {
  if (node.type === 'Quantifier') {
    const own = node.max >= manyTimes ? ([[prefix, node.element]] as const) : []
    return [...own, ...repeatsIn(node.element, prefix)]
  }
  return partsOf(node).flatMap((elements) => {
    let before = prefix
    return elements.flatMap((element) => {
      const found = repeatsIn(element, before)
      before += exampleOf(element)
      return found
    })
  })
}

/** A short text that an element matches. */
function exampleOf(node: Node): string {
  if (node.type === 'Quantifier') return exampleOf(node.element).repeat(Math.max(node.min, 0))
  if (node.type === 'Assertion' || node.type === 'Backreference') return ''
  const [first] = partsOf(node)
  if (first) return first.map(exampleOf).join('')
  return charactersIn(node)[0] ?? 'a'
}

const classes: Readonly<Record<string, readonly string[]>> = {
  digit: ['1'],
  space: [' ', '\t', '\n'],
  word: ['a', 'Z', '1', '_'],
}

/** Characters that a part names, such as stand for its classes. */
function charactersIn(node: AST.Node): readonly string[] {
  switch (node.type) {
    case 'Character':
      return [String.fromCodePoint(node.value)]
    case 'CharacterClassRange':
      return [node.min.value, node.max.value].map((one) => String.fromCodePoint(one))
    case 'CharacterSet':
      if (node.kind === 'any') return ['a', ' ', '\u00e9']
      if (node.kind === 'property') return ofProperty(node)
      return node.negate
        ? ['a', ' ', '-', '1'].filter((one) => !isIn(node.kind, one))
        : classes[node.kind]!
    case 'CharacterClass':
      return node.negate
        ? [...outside(node), ...node.elements.flatMap(charactersIn)]
        : node.elements.flatMap(charactersIn)
    case 'Quantifier':
      return charactersIn(node.element)
    case 'Pattern':
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives.flatMap(charactersIn)
    case 'Alternative':
      return node.elements.flatMap(charactersIn)
    case 'Assertion':
      return node.kind === 'lookahead' || node.kind === 'lookbehind'
        ? node.alternatives.flatMap(charactersIn)
        : []
    default:
      return []
  }
}

const candidates = [
  'a',
  'Z',
  '1',
  ' ',
  '\n',
  '-',
  '.',
  '\u00e9',
  '\u6c34',
  '\u200b',
  '\u0301',
  '\ud83d\ude00',
]

const isIn = (kind: string, one: string): boolean =>
  kind === 'digit' ? /\d/.test(one) : kind === 'space' ? /\s/.test(one) : /\w/.test(one)

const ofProperty = ({ raw }: AST.CharacterSet): readonly string[] => {
  const found = candidates.filter((one) => new RegExp(`^${raw}$`, 'u').test(one))
  return found.length > 0 ? found : ['a']
}

const outside = ({ raw }: AST.CharacterClass): readonly string[] => {
  const test = new RegExp(`^${raw}$`, 'u')
  const found = candidates.filter((one) => test.test(one))
  return found.slice(0, 3)
}
