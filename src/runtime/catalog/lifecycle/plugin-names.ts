import { IsolaError } from '#contracts/errors.ts'

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
export const isReserved = (id: string): boolean => reserved.has(id) || id.startsWith('isola-')

/**
 * Refuses an id that is ours or that the deployment's own plugins have (docs/security.md T24, dependency confusion).
 *
 * @param builtin Ids of what ships with the deployment: plugins, and what tools of ours are called after (`schedule__create`).
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
