/** What may be pointed at: the host of an address, in small letters. */
export type IsOpenHost = (host: string) => boolean

/** Makes what a text points at inert, piece by piece as it comes. */
export interface Defuser {
  /** @returns What is certain so far; at most 2,048 characters are held back. */
  readonly push: (text: string) => string
  /** The rest. */
  readonly end: () => string
}

/** Whatever a reader of Markdown or HTML looks for is in one run of ASCII without a space. */
const wholeRuns = /[\x21-\x7e]+/g
/** A longer one is cut by a space: what would span the cut means nothing any more. */
const maxRun = 2_048
/** So much before a run can belong to the name of its host. */
const maxBefore = 80

/**
 * Text in which nothing is fetched, with a click or without: no image, no HTML that loads, no link but to open hosts. It
 * stays readable, and has no quote or backslash more than before: JSON stays JSON. How the text is split changes nothing.
 *
 * It is not known which client reads it, so nothing is exempt, code neither.
 */
export function createDefuser(isOpen: IsOpenHost): Defuser {
  let held = ''
  /** What stood before it, as it came. */
  let before = ''
  /** Its beginning was cut off, so that nothing stands before it any more. */
  let isCut = false
  const inPieces = (run: string, start: string, next: string): string => {
    let [done, rest, ahead] = ['', run, start]
    while (rest.length > maxRun) {
      const at = cutOf(rest)
      done += `${defuseRun(rest.slice(0, at), { isOpen, goesOn: false, before: ahead })} `
      rest = rest.slice(at)
      ahead = ''
    }
    return done + defuseRun(rest, { isOpen, goesOn: next > '\x7e', before: ahead })
  }
  return {
    push(text) {
      const known = held + text
      const from = before
      const lastBefore = (at: number) =>
        at < maxBefore
          ? (from + known.slice(0, at)).slice(-maxBefore)
          : known.slice(at - maxBefore, at)
      const at = lastRunIn(known)
      let done = known
        .slice(0, at)
        .replace(wholeRuns, (run, index: number) =>
          inPieces(
            run,
            index === 0 && isCut ? '' : lastBefore(index),
            known.charAt(index + run.length),
          ),
        )
      before = lastBefore(at)
      if (at > 0) isCut = false
      held = known.slice(at)
      while (held.length > maxRun) {
        const end = cutOf(held)
        const piece = held.slice(0, end)
        done += `${defuseRun(piece, { isOpen, goesOn: false, before: isCut ? '' : before })} `
        before = (before + piece).slice(-maxBefore)
        isCut = true
        held = held.slice(end)
      }
      return done
    },
    end() {
      const rest = inPieces(held, isCut ? '' : before, '')
      held = ''
      return rest
    },
  }
}

/** Where a run is cut that is too long: where JSON may have a space, else not in the middle of an escape. */
function cutOf(run: string): number {
  const first = run.slice(0, maxRun)
  const at = Math.max(...[',', '[', '{'].map((sign) => first.lastIndexOf(sign))) + 1
  if (at > 0) return at
  const [escape = ''] = /(?<!\\)\\+(?:u[\da-f]{0,3})?$/i.exec(first) ?? []
  return maxRun - escape.length || maxRun
}

/** Where the run begins that may go on. */
function lastRunIn(text: string): number {
  let at = text.length
  while (at > 0 && text.charCodeAt(at - 1) > 0x20 && text.charCodeAt(at - 1) < 0x7f) at -= 1
  return at
}

/** The same for a text that is whole. */
export function defuse(text: string, isOpen: IsOpenHost): string {
  const { push, end } = createDefuser(isOpen)
  return push(text) + end()
}

const slash = String.raw`\\?\/`
/** In Markdown a backslash before a sign is left out; browsers take one for a slash. */
const slashes = String.raw`(?:\\?[\/\\]){2,}`
/** After a host: a port maybe, and what can carry something. */
const pathBegins = String.raw`(?:\\?:\d{1,5})?\\?[/?#](?:.|$)`
/** It ends where another scheme begins: what follows that one is an address too. */
const host = String.raw`(?:(?![a-z][a-z0-9+-]{0,31}\\?:${slashes})[\w-]|\\?\.)*`

const dangers = new RegExp(
  [
    String.raw`(?<image>!(?=\[))`,
    String.raw`(?<plainTag><\/?[a-z][a-z0-9]*>)`,
    String.raw`(?<tag><(?=[a-z/!?]))`,
    // It may stand for a letter of an address.
    String.raw`(?<entity>&(?:#\w{1,8}|[a-z]\w{1,31});)`,
    // A link to a place in the same document or folder, whole.
    String.raw`(?<inside>\]\((?:#[\w-]*|(?:\.{0,2}\/)?[\w.~-][\w.~/%+,@-]*(?:[?#][\w.=~/%+-]*)?)?\))`,
    String.raw`(?<link>\]\()`,
    String.raw`(?<definition>\]:)`,
    String.raw`(?<scheme>[a-z][a-z0-9+-]{0,31})\\?:${slashes}(?<host>${host})`,
    String.raw`(?<relative>(?<![:\w/\\])(?:${slash}${slash}|\\\/|\/\\)[\/\\]*(?=[\w[%]))`,
    String.raw`(?<www>www\\?\.)`,
    // An underline may be the beginning of an emphasis, which is none of the address.
    String.raw`(?<bare>(?<![a-z0-9.@/\\:-]|[a-z0-9]_)(?:[a-z0-9-]+\\?\.)+[a-z]{2,24}(?=${pathBegins}))`,
  ].join('|'),
  'gi',
)

/** What is inside of one is read otherwise, or loads. Any other one without attributes does nothing. */
const ofOwn =
  /^<\/?(?:script|style|svg|math|xmp|plaintext|no\w+|template|textarea|title|iframe|object|embed|frameset|select)>/i
const plainEntities = /^&(?:amp|lt|gt|quot|apos|nbsp|ndash|mdash|hellip|copy|euro);$/i

interface Around {
  readonly isOpen: IsOpenHost
  /** With a letter of another script, which a host may have. */
  readonly goesOn: boolean
  readonly before: string
}

/** A name in letters of any script. */
const wideHost =
  /(?:^|[^\p{L}\p{M}\p{N}.@/\\:-])(?:[\p{L}\p{M}\p{N}-]+\\?\.)+[\p{L}\p{M}\p{N}-]{2,}$/u
const afterHost = new RegExp(`^${pathBegins}`)

/** What a host with letters of another script would be told is taken from it by a space. */
function cutFromWideHost(run: string, { before, goesOn }: Around): string {
  if (!/\P{ASCII}$/u.test(before)) return run
  const lead = /^[\w.\\-]{0,80}?(?=\\?[:/?#])/.exec(run)?.[0]
  if (lead === undefined || !wideHost.test(before + lead)) return run
  const rest = run.slice(lead.length)
  const [found = ''] = afterHost.exec(rest) ?? []
  return found === '' || (!goesOn && /[/?#]$/.test(found) && found.length === rest.length)
    ? run
    : `${lead} ${rest}`
}

/** Most words have none of it. */
const isSuspect = /[!<&\]:/.]/

function defuseRun(given: string, around: Around): string {
  const run = cutFromWideHost(given, around)
  if (!isSuspect.test(run)) return run
  return run.replace(dangers, (found: string, ...more: unknown[]) => {
    const groups = more.at(-1) as Readonly<Record<string, string | undefined>>
    const at = more.at(-3) as number
    const after = run.slice(at + found.length)
    if (groups['plainTag']) return ofOwn.test(found) ? `< ${found.slice(1)}` : found
    if (groups['entity']) return plainEntities.test(found) ? found : `& ${found.slice(1)}`
    if (groups['tag']) return isOpenAddress(after, around) ? found : `${found} `
    if (groups['inside']) return found
    if (groups['link']) return isOpenAddress(after, around) ? found : '] ('
    if (groups['definition']) return '] :'
    if (groups['scheme'] !== undefined) {
      if (isOpenAddress(run.slice(at), around)) return found
      return `${inertScheme(groups['scheme'])}//${inertHost(groups['host']!)}`
    }
    if (groups['relative']) return 'hxxp://'
    if (groups['bare'] && /^\\?[/?#]$/.test(after) && !around.goesOn) return found
    if (groups['bare'])
      return isOpenAddress(`https://${run.slice(at)}`, around) ? found : inertHost(found)
    return groups['www'] ? inertHost(`${found}x`).slice(0, -1) : `${found} `
  })
}

/** As those who write about attacks do: `hxxps://evil[.]example/`. */
const inertScheme = (scheme: string): string =>
  /http/i.test(scheme)
    ? `${scheme.replace(/tt/gi, (letters) => (letters === 'TT' ? 'XX' : 'xx'))}:`
    : `${scheme}:hxxp:`
/** Not before a sign: with what follows it would be something else. */
const inertHost = (name: string): string => name.replace(/\\?\.(?=[a-z0-9-])/gi, '[.]')

/** Without a name of a user, a port or a sign in its host: parsers agree about what is left. */
const plainAddress = /^https?:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)+)\.?(?:(?=[/?#])|[.,;:!?'")\]*_>]*$)/i

function isOpenAddress(text: string, { isOpen, goesOn }: Around): boolean {
  const [found = '', name] = plainAddress.exec(text) ?? []
  if (name === undefined || (goesOn && found.length === text.length)) return false
  return isOpen(name.toLowerCase())
}
