import { IsolaError } from '#contracts/errors.ts'

/** Names that are ours: core tools are `isola__…`, the orchestrator is nobody's plugin. */
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

/**
 * Refuses an id that is ours or that the deployment's own plugins have (docs/security.md T24, dependency confusion).
 *
 * @param builtin Ids of the plugins that ship with the deployment.
 * @throws `plugin_name_collision`
 */
export function checkPluginId(id: string, builtin: ReadonlySet<string>): void {
  if (reserved.has(id) || id.startsWith('isola-'))
    throw collision(id, 'is reserved for Isola itself')
  if (builtin.has(id)) throw builtinCollision(id)
}

/** `plugin_name_collision` with a plugin of the deployment. */
export const builtinCollision = (id: string): IsolaError =>
  collision(id, 'is that of a plugin that ships with this deployment')

function collision(id: string, why: string): IsolaError {
  return new IsolaError(
    'plugin_name_collision',
    `id: "${id}" ${why}; choose another one in plugin.yaml`,
    { param: 'id' },
  )
}

/**
 * Ids that are easily taken for this one (P27, typosquats), as notes for the operator.
 *
 * @param known Ids that are installed or ship with the deployment.
 */
export function lookAlikes(id: string, known: readonly string[]): readonly string[] {
  return known
    .filter((other) => other !== id && isLookAlike(id, other))
    .map((other) => `"${id}" looks like "${other}", which is another plugin: check who made it`)
}

function isLookAlike(id: string, other: string): boolean {
  if (sortedWords(id) === sortedWords(other)) return true
  return (
    isAlmost(skeleton(id), skeleton(other)) ||
    isAlmost(skeleton(withoutFillers(id)), skeleton(withoutFillers(other)))
  )
}

/** One letter among few is another word: http and html. Of long names two may differ. */
function isAlmost(a: string, b: string): boolean {
  const shorter = Math.min(a.length, b.length)
  const allowed = shorter < 5 ? 0 : shorter < 12 ? 1 : 2
  return a === b || (allowed > 0 && isWithin(a, b, allowed))
}

/** Words that a copy likes to add. */
const fillers = /-(?:plugin|tool|tools|official|pro|plus|new|v?\d+|js|ts|ai|agent|isola)$/

function withoutFillers(id: string): string {
  let name = id
  while (fillers.test(name)) name = name.replace(fillers, '')
  return name
}

/** What is left of an id to somebody who reads fast: no hyphens, no doubled letters, no plural, one form a letter. */
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

const sortedWords = (id: string): string => id.split('-').toSorted().join('-')

/** Whether at most so many letters were put in, left out, exchanged or swapped with their neighbour. */
function isWithin(a: string, b: string, allowed: number): boolean {
  if (Math.abs(a.length - b.length) > allowed) return false
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
