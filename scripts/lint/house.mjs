// The house as one table: layers, the rooms of each, what a room may import. docs/design.md section 3 has the reasons;
// test/unit/lint-rooms.test.ts shows each line saying no.

/**
 * Lowest first: a layer imports the layers below it. `compose`, `embedded` and `index.ts` wire, so they import
 * anything.
 */
export const layers = ['contracts', 'platform', 'runtime', 'features', 'surfaces']

/** Rooms of each layer, in their order: a room imports the public files of rooms to its left. */
const rooms = {
  platform: ['shims', 'objects', 'd1', 'outbound', 'models', 'routes'],
  runtime: ['kernel', 'context', 'catalog', 'session'],
  features: [
    'policy',
    'approvals',
    'access',
    'record',
    'plugins',
    'skills',
    'memory',
    'mcp-servers',
    'schedules',
    'agents',
  ],
  surfaces: ['sign-in', 'console', 'openai', 'sessions', 'mcp', 'http'],
}

/** Kits: rooms of which the rooms above import any file. */
const kits = ['platform/d1', 'platform/objects', 'platform/outbound', 'platform/routes']

/** Folders of a room in the order in which they build on each other. Files at the room's root come after them. */
const folders = {
  kernel: ['types', 'leases'],
  session: [
    'types',
    'requests',
    'storage',
    'entry',
    'floor',
    'responses',
    'log',
    'runs',
    'waiting',
    'upkeep',
  ],
  catalog: ['types', 'schema', 'search', 'lifecycle'],
  plugins: [
    'types',
    'store',
    'secrets',
    'sandbox',
    'loading',
    'admission',
    'capabilities',
    'hooks',
    'providers',
    'tools',
    'routes',
  ],
}

/** Outside packages that a room may import; `name/*` allows subpaths. A room without a line may import none. */
export const packages = {
  // croner: a schedule accepts what the scheduler accepts, and a manifest is checked before it is stored.
  contracts: ['zod', 'croner'],
  // Of zod its types alone: a client loads no schema.
  client: ['zod', 'eventsource-parser'],
  session: ['zod', 'cloudflare:workers', 'agents/lifecycle'],
  models: ['openai', 'openai/*', 'tokenx', 'eventsource-parser'],
  routes: ['hono', 'hono/*', 'zod'],
  // fflate and yaml read uploads. The last two are modules of every isolate.
  plugins: [
    'zod',
    'hono',
    'fflate',
    'yaml',
    'cloudflare:workers',
    'agents/lifecycle',
    'node:async_hooks',
    'isola/plugin',
    'plugin-code.js',
  ],
  catalog: ['zod', '@cfworker/json-schema', 'cloudflare:workers'],
  memory: ['zod', 'hono', '@huggingface/jinja', 'htmlparser2'],
  access: ['zod', 'hono', 'cloudflare:workers', '@cloudflare/workers-oauth-provider'],
  // node:async_hooks: which call a server asks about (decision 0027).
  'mcp-servers': [
    'zod',
    'hono',
    '@modelcontextprotocol/*',
    'cloudflare:workers',
    'node:async_hooks',
  ],
  record: ['zod', 'hono', 'agents/lifecycle'],
  skills: ['zod', 'hono'],
  schedules: ['zod', 'hono', 'croner'],
  agents: ['zod', 'hono'],
  approvals: ['zod', 'hono'],
  policy: ['zod', 'hono'],
  mcp: ['hono', 'hono/*', 'zod', 'agents/mcp/server', '@modelcontextprotocol/server'],
  http: ['hono', 'hono/*', 'zod'],
  openai: ['hono', 'hono/*', 'zod'],
  sessions: ['hono', 'hono/*', 'zod'],
  'sign-in': ['hono', 'hono/*', 'zod'],
  console: ['hono', 'hono/*'],
}

/** Imports against the table, each until its reason is gone. This list only gets shorter. */
export const notYet = {
  'features/plugins/store/plugins.ts': [
    'features/mcp-servers/store/mcp-servers.ts',
    'features/skills/store/skills.ts',
  ],
  'features/policy/routes/exposed.ts': ['surfaces/mcp/offered-resources.ts'],
  'features/record/erasure/empty-tables.ts': ['features/access/principal-rows.ts'],
  'features/record/erasure/erasures.ts': ['features/access/principal-of.ts'],
  'features/record/store/audit-log.ts': [
    'features/approvals/store/approval-mirror.ts',
    'features/schedules/store/schedules.ts',
  ],
  'features/record/store/deployment-count.ts': ['features/plugins/store/bundles.ts'],
  'features/record/store/erasure/table-places.ts': ['features/schedules/store/schedules.ts'],
  'features/record/store/retention.ts': ['features/skills/store/skill-drafts.ts'],
  'features/schedules/store/schedules.ts': ['features/agents/store/stored-agents.ts'],
}

/** The public files of a room: its types, and what handlers of routes share about sessions (`requests/`). */
const isTypes = (inside) => inside === 'types.ts' || /^(?:types|requests)\//.test(inside)
/** The routes of a room, for the surface that mounts them. */
const isRoutes = (inside) => /^routes(?:\.ts$|\/)/.test(inside)

/** The layer, room and path inside the room of a path below `src/`. */
export function placeOf(path) {
  const parts = path.split('/')
  const layer = parts[0]
  if (parts.length < 2) return undefined
  if (!(layer in rooms)) return { layer, room: layer, inside: parts.slice(1).join('/') }
  if (parts.length < 3) return undefined
  return { layer, room: parts[1], inside: parts.slice(2).join('/') }
}

const folderOf = (inside) => (inside.includes('/') ? inside.split('/')[0] : undefined)

function againstOrder(room, own, other) {
  const order = folders[room]
  if (!order) return undefined
  for (const name of [folderOf(own), folderOf(other)]) {
    if (name !== undefined && !order.includes(name))
      return `The folder ${name}/ has no place in the order of ${room}: see scripts/lint/house.mjs.`
  }
  const rank = (inside) => {
    const name = folderOf(inside)
    if (name === 'routes' || inside === 'routes.ts') return order.length + 1
    if (name === undefined) return inside === 'types.ts' ? -1 : order.length
    return order.indexOf(name)
  }
  if (rank(other) <= rank(own)) return undefined
  return (
    `${other} is built on ${folderOf(own) ?? 'the root of'} ${room}, not the other way round: move it, ` +
    'or hand it in.'
  )
}

/** The reason why one file below `src/` may not import another, or undefined. */
export function againstHouse(from, to, exceptions = notYet) {
  const [own, other] = [placeOf(from), placeOf(to)]
  if (!own || ['compose', 'embedded'].includes(own.layer)) return undefined
  if (!other) return /\.gen\.[jt]s$/.test(to) ? undefined : `${to} composes: no room imports it.`
  if (own.layer === other.layer && own.room === other.room)
    return againstOrder(own.room, own.inside, other.inside)
  if (exceptions[from]?.includes(to)) return undefined
  if (other.layer === 'contracts') return undefined
  if (own.layer === 'client')
    return `The client imports contracts and the table of routes, not ${to}: a client loads no schema.`
  const [at, target] = [layers.indexOf(own.layer), layers.indexOf(other.layer)]
  if (target < 0 || at < 0) return `${own.layer}/ may not import ${other.layer}/.`
  if (target > at)
    return `${own.layer}/ is below ${other.layer}/: declare a port in its types, and hand it in.`
  const mounts = own.layer === 'surfaces' && own.room === 'http'
  if (target === at) {
    const order = rooms[own.layer]
    if (!order.includes(own.room) || !order.includes(other.room))
      return `${own.layer}/${order.includes(own.room) ? other.room : own.room} has no place in scripts/lint/house.mjs.`
    if (order.indexOf(other.room) > order.indexOf(own.room))
      return `${other.layer}/${other.room} is to the right of ${own.room}: see the order in scripts/lint/house.mjs.`
  }
  if (kits.includes(`${other.layer}/${other.room}`) || isTypes(other.inside)) return undefined
  if (mounts && (own.layer === other.layer || isRoutes(other.inside))) return undefined
  return `${to} is private to ${other.layer}/${other.room}: import its types, or have compose/ hand it in.`
}
