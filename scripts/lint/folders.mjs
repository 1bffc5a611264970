// Which folder of a room may import which. test/unit/lint-rooms.test.ts shows the rule saying no.
import { folderIn } from './place.mjs'

/**
 * Folders of a room in the order in which they are built on each other: a file imports its own folder and those before
 * it, types included. The files at the room's root come last. docs/architecture.md says what lies where.
 */
const folderOrders = {
  sessions: ['storage', 'entry', 'floor', 'responses', 'log', 'runs', 'waiting', 'upkeep'],
  plugins: [
    'secrets',
    'sandbox',
    'loading',
    'admission',
    'capabilities',
    'hooks',
    'providers',
    'tools',
  ],
  catalog: ['schema', 'search', 'lifecycle'],
}

/** The reason why one file of a room may not import another, or undefined. */
export function againstOrder(place, filename, target) {
  const order = folderOrders[place.name]
  if (!order) return undefined
  const own = folderIn(place, filename)
  const other = folderIn(place, target)
  for (const name of [own, other]) {
    if (name !== undefined && !order.includes(name))
      return `The folder ${name}/ has no place in the order of ${place.name}: see scripts/lint/folders.mjs.`
  }
  const rank = (name) => (name === undefined ? order.length : order.indexOf(name))
  if (rank(other) <= rank(own)) return undefined
  const what = other === undefined ? `the files at the root of ${place.name}` : `${other}/`
  return `${what} is built on ${own}/, not the other way round: move it, or hand it in.`
}
