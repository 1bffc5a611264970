// Holds every event that a test run stores, tells or records against its schema, and every reply of the app against the
// OpenAPI document. In tests only: `src/` knows nothing of this, and no bundle has it.
import { sep } from 'node:path'

const checker = '../../../../test/setup/check-events.ts'

/** Where all events and replies come by, and what is done to each there. */
export const places = [
  {
    file: 'src/runtime/session/storage/store.ts',
    find: 'export function createSessionStore(',
    name: 'createSessionStore',
    check: 'import { checkStored as check }',
    wrap: '(...given) => { const store = unchecked(...given); return { ...store, writeTurn(order, turn, begun) { turn.events.forEach(check); return store.writeTurn(order, turn, begun) } } }',
  },
  {
    file: 'src/runtime/session/log/log-view.ts',
    find: 'export function fullEvents(',
    name: 'fullEvents',
    check: 'import { checkTold as check }',
    wrap: '(turn) => { const told = unchecked(turn); told.forEach(check); return told }',
  },
  {
    file: 'src/surfaces/http/app.ts',
    find: 'export function createHttpApp<',
    name: 'createHttpApp',
    check: 'import { checkReplies as check }',
    wrap: '(deps, table) => check(unchecked(deps, table))',
    path: '../../../test/setup/check-replies.ts',
  },
]

/** Events of no session. Unit tests of the table write what they like into it. */
export const deploymentPlace = {
  file: 'src/platform/d1/deployment-log.ts',
  find: 'export function eventRow(',
  name: 'eventRow',
  check: 'import { checkDeployment as check }',
  wrap: '(database, event, only) => { check(event); return unchecked(database, event, only) }',
  path: '../../../test/setup/check-events.ts',
}

/** The text of a module with its function behind a check. Throws if it is not there exactly once. */
export function withCheck(text, { file, find, name, check, wrap, path = checker }) {
  if (text.split(find).length !== 2) throw new Error(`${file} has not one "${find}"`)
  const hidden = find.startsWith('export const')
    ? 'const unchecked = '
    : `function unchecked${find.at(-1)}`
  return [
    `${check} from '${path}'`,
    text.replace(find, () => hidden),
    `export const ${name} = ${wrap}`,
  ].join('\n')
}

/** A vite plugin for each project of the tests. */
export const checkedEvents = (checked = places) => ({
  name: 'isola-checked-events',
  enforce: 'pre',
  transform(text, id) {
    const path = id.split('?')[0].split(sep).join('/')
    const place = checked.find(({ file }) => path.endsWith(`/${file}`))
    return place && { code: withCheck(text, place), map: null }
  },
})
