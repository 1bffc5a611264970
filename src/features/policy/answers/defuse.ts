/** Whether an address may stay active; `host` is in lower case. */
export type IsOpenHost = (host: string) => boolean

/** Every construct that Markdown or HTML readers act on lies in one run of ASCII without a space. */
const wholeRuns = /[\x21-\x7e]+/g
/** A longer run is cut by a space: a construct across the cut has no effect any more. */
const maxRun = 2_048
/** How many characters before a run can belong to its host name. */
const maxBefore = 80

/**
 * Makes a text in which a reader fetches nothing, with a click or without: no image, no HTML that loads, no link
 * except to open hosts. The text stays readable. It gains no quote or backslash, so JSON stays JSON. The result does
 * not depend on how the stream is split.
 *
 * The client that shows the text is unknown, so nothing is exempt, not even code.
 */
export function createDefuser(isOpen: IsOpenHost) {
  let held = ''
  /** The original text before the held run. */
  let before = ''
  /** The held run's beginning was cut off, so nothing precedes it any more. */
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
    /** @returns The text that is certain so far; at most 2,048 characters are held back. */
    push: (text: string): string => {
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
    /** The rest. */
    end: (): string => {
      const rest = inPieces(held, isCut ? '' : before, '')
      held = ''
      return rest
    },
  }
}

/** Where an overlong run is cut: where JSON may have a space, else never within an escape. */
function cutOf(run: string): number {
  const first = run.slice(0, maxRun)
  const at = Math.max(...[',', '[', '{'].map((sign) => first.lastIndexOf(sign))) + 1
  if (at > 0) return at
  const [escape = ''] = /(?<!\\)\\+(?:u[\da-f]{0,3})?$/i.exec(first) ?? []
  return maxRun - escape.length || maxRun
}

/** Where the last run begins, which the next piece may continue. */
function lastRunIn(text: string): number {
  let at = text.length
  while (at > 0 && text.charCodeAt(at - 1) > 0x20 && text.charCodeAt(at - 1) < 0x7f) at -= 1
  return at
}

/** Defuses a whole text at once. */
export function defuse(text: string, isOpen: IsOpenHost): string {
  const { push, end } = createDefuser(isOpen)
  return push(text) + end()
}

const slash = String.raw`\\?\/`
/** Markdown drops a backslash before a sign; browsers read a backslash as a slash. */
const slashes = String.raw`(?:\\?[\/\\]){2,}`
/** After a host: an optional port, and the beginning of a path that can carry data. */
const pathBegins = String.raw`(?:\\?:\d{1,5})?\\?[/?#](?:.|$)`
/** The host ends where another scheme begins, because that scheme starts an address too. */
const host = String.raw`(?:(?![a-z][a-z0-9+-]{0,31}\\?:${slashes})[\w-]|\\?\.)*`

const dangers = new RegExp(
  [
    String.raw`(?<image>!(?=\[))`,
    String.raw`(?<plainTag><\/?[a-z][a-z0-9]*>)`,
    String.raw`(?<tag><(?=[a-z/!?]))`,
    // An entity may stand for a letter of an address.
    String.raw`(?<entity>&(?:#\w{1,8}|[a-z]\w{1,31});)`,
    // A whole link to a place in the same document or folder.
    String.raw`(?<inside>\]\((?:#[\w-]*|(?:\.{0,2}\/)?[\w.~-][\w.~/%+,@-]*(?:[?#][\w.=~/%+-]*)?)?\))`,
    String.raw`(?<link>\]\()`,
    String.raw`(?<definition>\]:)`,
    String.raw`(?<scheme>[a-z][a-z0-9+-]{0,31})\\?:${slashes}(?<host>${host})`,
    String.raw`(?<relative>(?<![:\w/\\])(?:${slash}${slash}|\\\/|\/\\)[\/\\]*(?=[\w[%]))`,
    String.raw`(?<www>www\\?\.)`,
    // An underscore may begin an emphasis, and then is not part of the address.
    String.raw`(?<bare>(?<![a-z0-9.@/\\:-]|[a-z0-9]_)(?:[a-z0-9-]+\\?\.)+[a-z]{2,24}(?=${pathBegins}))`,
  ].join('|'),
  'gi',
)

/**
 * Elements whose content is parsed by other rules, or which load something. Other elements without attributes are
 * harmless.
 */
const ofOwn =
  /^<\/?(?:script|style|svg|math|xmp|plaintext|no\w+|template|textarea|title|iframe|object|embed|frameset|select)>/i
const plainEntities = /^&(?:amp|lt|gt|quot|apos|nbsp|ndash|mdash|hellip|copy|euro);$/i

interface Around {
  readonly isOpen: IsOpenHost
  /** True if a non-ASCII letter follows the run: a host name may contain it. */
  readonly goesOn: boolean
  readonly before: string
}

/** A host name in letters of any script. */
const wideHost =
  /(?:^|[^\p{L}\p{M}\p{N}.@/\\:-])(?:[\p{L}\p{M}\p{N}-]+\\?\.)+[\p{L}\p{M}\p{N}-]{2,}$/u
const afterHost = new RegExp(`^${pathBegins}`)

/** Inserts a space between a non-ASCII host name and the path behind it, so that no data reaches that host. */
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

/** Most words contain none of these signs. */
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

/** The notation of security reports: `hxxps://evil[.]example/`. */
const inertScheme = (scheme: string): string =>
  /http/i.test(scheme)
    ? `${scheme.replace(/tt/gi, (letters) => (letters === 'TT' ? 'XX' : 'xx'))}:`
    : `${scheme}:hxxp:`
/** Not before other signs: `[.]` with them could form new Markdown. */
const inertHost = (name: string): string => name.replace(/\\?\.(?=[a-z0-9-])/gi, '[.]')

/** An address without user name, port or odd signs in its host: all parsers agree about its host. */
const plainAddress = /^https?:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)+)\.?(?:(?=[/?#])|[.,;:!?'")\]*_>]*$)/i

function isOpenAddress(text: string, { isOpen, goesOn }: Around): boolean {
  const [found = '', name] = plainAddress.exec(text) ?? []
  if (name === undefined || (goesOn && found.length === text.length)) return false
  return isOpen(name.toLowerCase())
}
