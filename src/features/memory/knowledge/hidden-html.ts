import { headOf } from '#contracts/cut.ts'

/** Attributes of an element, their names in small letters. */
export type HtmlAttributes = Readonly<Record<string, string>>

/** Elements of which nothing is text of the page. */
const never: ReadonlySet<string> = new Set(
  'script style noscript template svg nav iframe object select textarea datalist audio video canvas noembed noframes'.split(
    ' ',
  ),
)
/** A longer text is no style that a person wrote. */
const maxStyleChars = 4_000

/**
 * Whether a browser hides an element. Style sheets are not read: text that a class hides counts as visible.
 */
export function isHidden(name: string, attributes: HtmlAttributes): boolean {
  if (never.has(name) || Object.hasOwn(attributes, 'hidden')) return true
  if (name === 'dialog' && !Object.hasOwn(attributes, 'open')) return true
  if (attributes['aria-hidden']?.trim().toLowerCase() === 'true') return true
  const { style } = attributes
  return style !== undefined && hides(declarationsOf(headOf(style, maxStyleChars)))
}

type Declarations = ReadonlyMap<string, string>

/** The last of a name counts. */
function declarationsOf(style: string): Declarations {
  const declared = withoutComments(style)
    .split(';')
    .map((one) => {
      const colon = one.indexOf(':')
      const value = one.slice(colon + 1).toLowerCase()
      return [
        one.slice(0, Math.max(colon, 0)).trim().toLowerCase(),
        value.replace('!important', '').trim(),
      ] as const
    })
  return new Map(declared)
}

function withoutComments(style: string): string {
  return style
    .split('/*')
    .map((piece, at) => (at === 0 ? piece : piece.slice(indexBehind(piece, '*/'))))
    .join('')
}

const indexBehind = (text: string, mark: string): number => {
  const at = text.indexOf(mark)
  return at < 0 ? text.length : at + mark.length
}

const hiding: Readonly<Record<string, (value: string) => boolean>> = {
  display: (value) => value === 'none',
  visibility: (value) => value === 'hidden' || value === 'collapse',
  'content-visibility': (value) => value === 'hidden',
  opacity: isZero,
  'font-size': isZero,
  font: (value) => /^(?:.* )?0(?:px|pt|em|rem|%)?(?:\/| |$)/.test(value),
  color: (value) => value === 'transparent',
  transform: (value) => /^scale\(\s*0(?:\.0*)?\s*[,)]/.test(value),
  zoom: isZero,
  'clip-path': (value) => /^inset\(\s*(?:50|100)%/.test(value) || /^circle\(\s*0/.test(value),
  clip: (value) =>
    /^rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?\s*\)$/.test(value),
  'text-indent': isFarAway,
}

/** Nothing of it is seen: it is not shown, has no size, is transparent, or is far beside the page. */
function hides(declared: Declarations): boolean {
  if ([...declared].some(([name, value]) => Object.hasOwn(hiding, name) && hiding[name]!(value)))
    return true
  const cuts = ['overflow', 'overflow-x', 'overflow-y'].some((name) =>
    /^(?:hidden|clip)/.test(declared.get(name) ?? ''),
  )
  const sizes = ['width', 'height', 'max-width', 'max-height']
  if (cuts && sizes.some((name) => isTiny(declared.get(name)))) return true
  const isMoved = ['absolute', 'fixed'].includes(declared.get('position') ?? '')
  return isMoved && ['left', 'top', 'right', 'bottom'].some((name) => isFarAway(declared.get(name)))
}

/** A number with its unit; nothing if it is none. */
const numberOf = (value: string | undefined): number | undefined => {
  const number = Number.parseFloat(value ?? '')
  return Number.isNaN(number) ? undefined : number
}

function isZero(value: string): boolean {
  return numberOf(value) === 0
}

const isTiny = (value: string | undefined): boolean =>
  numberOf(value) === 0 || /^1px$/.test(value ?? '')

function isFarAway(value: string | undefined): boolean {
  const number = numberOf(value)
  return number !== undefined && number <= -900
}
