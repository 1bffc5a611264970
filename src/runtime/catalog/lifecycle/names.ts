import type { PluginRow } from '../types/plugin-catalog.ts'
import { IsolaError } from '#contracts/errors.ts'
import { isSkillName } from '../types/skill-catalog.ts'

/** The most names in one note. */
const maxNamed = 10

/** Ids in the forms that are compared. The forms are made once, since each new id is compared with all. */
interface KnownNames {
  readonly add: (id: string) => void
  readonly delete: (id: string) => void
  /** Notes for the operator: which of these ids are easily taken for this one (P27, typosquats). */
  readonly like: (id: string) => readonly string[]
}

/** Compares with these ids, of installed plugins and of plugins that ship. */
function createKnownNames(ids: Iterable<string>, what = 'plugin'): KnownNames {
  const known = new Map([...ids].map((id) => [id, toName(id)]))
  return {
    add: (id) => void known.set(id, toName(id)),
    delete: (id) => void known.delete(id),
    like(id) {
      const name = toName(id)
      const alike = [...known.values()].filter((one) => one.id !== id && isLookAlike(name, one))
      const more = alike.length - maxNamed
      return [
        ...alike
          .slice(0, maxNamed)
          .map(
            (one) => `"${id}" looks like "${one.id}", which is another ${what}: check who made it`,
          ),
        ...(more > 0 ? [`"${id}" looks like ${more} more`] : []),
      ]
    },
  }
}

/** The same for a caller that has all ids at hand. */
export const lookAlikes = (
  id: string,
  known: readonly string[],
  what?: 'skill',
): readonly string[] => createKnownNames(known, what).like(id)

/** Names that are read once. Their only writer keeps them current. */
export interface NamesKept {
  readonly all: () => Promise<KnownNames>
  /** These rows were written. */
  readonly wrote: (rows: readonly Pick<PluginRow, 'id' | 'state'>[]) => void
  /** A write may have failed half-way: read the names again. */
  readonly forget: () => void
}

/** @param read The ids of all present plugins. */
export function keepNames(read: () => Promise<readonly string[]>): NamesKept {
  let kept: Promise<KnownNames> | undefined
  let known: KnownNames | undefined
  const forget = () => {
    kept = known = undefined
  }
  return {
    forget,
    all: () =>
      (kept ??= read().then(
        (ids) => (known = createKnownNames(ids)),
        (error: unknown) => {
          forget()
          throw error
        },
      )),
    wrote(rows) {
      // A read that is under way may have begun before this write.
      if (!known) forget()
      for (const { id, state } of rows) {
        if (state === 'removed') known?.delete(id)
        else known?.add(id)
      }
    },
  }
}

/** A form of an id, with which letters it has: two of few differences differ in few of these. */
interface Form {
  readonly text: string
  readonly letters: number
}

interface Name {
  readonly id: string
  readonly words: string
  readonly forms: readonly Form[]
}

const toName = (id: string): Name => ({
  id,
  words: id.split('-').toSorted().join('-'),
  forms: [id, withoutFillers(id)].map(skeleton).map((text) => ({ text, letters: lettersOf(text) })),
})

function lettersOf(text: string): number {
  let bits = 0
  for (let at = 0; at < text.length; at += 1) bits |= 1 << (text.charCodeAt(at) % 32)
  return bits
}

const isLookAlike = (one: Name, other: Name): boolean =>
  one.words === other.words || one.forms.some((form, at) => isAlmost(form, other.forms[at]!))

/** A different letter makes a short name another word, as in http and html. Long names may differ in two letters. */
function isAlmost(a: Form, b: Form): boolean {
  const shorter = Math.min(a.text.length, b.text.length)
  const allowed = shorter < 5 ? 0 : shorter < 12 ? 1 : 2
  if (a.text === b.text) return true
  if (allowed === 0 || Math.abs(a.text.length - b.text.length) > allowed) return false
  // Replacing one letter changes at most two bits.
  return countBits(a.letters ^ b.letters) <= 2 * allowed && isWithin(a.text, b.text, allowed)
}

function countBits(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1
  return count
}

/** Words that a copy likes to add. */
const fillers = /-(?:plugin|tool|tools|official|pro|plus|new|v?\d+|js|ts|ai|agent|isola)$/

function withoutFillers(id: string): string {
  let name = id
  while (fillers.test(name)) name = name.replace(fillers, '')
  return name
}

/**
 * Reduces an id to what a hurried reader takes in: no hyphens, no doubled letters, no plural, one form for similar
 * letters.
 */
function skeleton(id: string): string {
  return id
    .replaceAll('-', '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replaceAll('cl', 'd')
    .replaceAll(/[1i]/g, 'l')
    .replaceAll('0', 'o')
    .replaceAll('5', 's')
    .replaceAll(/(.)\1+/g, '$1')
    .replace(/(?<=..)(?:es|s)$/, '')
}

/** Whether the texts differ by at most so many letters: added, left out, replaced or swapped with a neighbour. */
function isWithin(a: string, b: string, allowed: number): boolean {
  let before: readonly number[] = []
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_unused, index) => index)
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      next.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (isSame ? 0 : 1),
          isSwap && row > 1 && column > 1 ? (before[column - 2] ?? 0) + 1 : Number.MAX_SAFE_INTEGER,
        ),
      )
    }
    before = last
    last = next
  }
  return (last[b.length] ?? 0) <= allowed
}

/** Reserved names: core tools are `isola__…`, and the orchestrator belongs to no plugin. */
const reserved: ReadonlySet<string> = new Set([
  'isola',
  'orchestrator',
  'operator',
  'system',
  'core',
  'kernel',
  'host',
  'builtin',
  'trusted',
  'community',
])

/** Whether a name is ours, of a plugin or of a skill. */
const isReserved = (id: string): boolean => reserved.has(id) || id.startsWith('isola-')

/**
 * Refuses an id that is ours or that the deployment's own plugins have (docs/security.md T24, dependency confusion).
 *
 * @param builtin Ids of what ships with the deployment: plugins, and what tools of ours are called after
 * (`schedule__create`).
 * @throws `plugin_name_collision`
 */
export function checkPluginId(id: string, builtin: ReadonlySet<string>): void {
  if (isReserved(id)) throw collision(id, 'is reserved for Isola itself')
  if (builtin.has(id)) throw builtinCollision(id)
}

/** `plugin_name_collision` with what ships. */
export const builtinCollision = (id: string): IsolaError =>
  collision(id, 'is that of a plugin, or of tools, that ship with this deployment')

function collision(id: string, why: string): IsolaError {
  return new IsolaError(
    'plugin_name_collision',
    `id: "${id}" ${why}; choose another one in plugin.yaml`,
    { param: 'id' },
  )
}

/** The names that a new name is compared with. */
interface NamesThere {
  /** The names of the skills that ship. */
  readonly bundled: readonly string[]
  /** The names of the installed skills, if this one is new. */
  readonly installed: readonly string[]
  /** An operator confirmed a name that looks like another's. */
  readonly isMeant: boolean
}

/**
 * Refuses a name that a model or a person would take for another skill's: an agent follows the skill that it loads by
 * name (docs/security.md T24, typosquats).
 *
 * @throws `plugin_name_collision`
 */
export function checkSkillName(name: string, { bundled, installed, isMeant }: NamesThere): void {
  if (!isSkillName(name))
    throw skillCollision(
      `${JSON.stringify(name)} is no name for a skill here: lowercase letters (a to z), digits and single ` +
        'hyphens between them, 64 at most',
    )
  if (isReserved(name)) throw skillCollision(`"${name}" is reserved for Isola itself`)
  if (bundled.includes(name))
    throw skillCollision(`"${name}" is that of a skill that ships with this deployment`)
  if (isMeant) return
  const [like] = lookAlikes(name, [...bundled, ...installed], 'skill')
  if (like !== undefined)
    throw skillCollision(
      `${like}; an operator may say that it is meant (--look-alike, allowLookAlike: true)`,
    )
}

const skillCollision = (why: string): IsolaError =>
  new IsolaError('plugin_name_collision', `name: ${why}. Choose another one in SKILL.md.`, {
    param: 'name',
  })
