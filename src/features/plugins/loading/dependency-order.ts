/**
 * Orders plugins by `depends_on`. A missing dependency or a cycle refuses a plugin and everything that depends on it.
 *
 * @returns `ordered`: every plugin after its dependencies, otherwise in the given order; `refused`: the plugins that
 *   cannot load, with the reason.
 */
export function orderByDependencies<
  T extends { readonly id: string; readonly dependsOn: readonly string[] },
>(
  plugins: readonly T[],
  /** Why a plugin outside of `plugins` is absent, if known: `is disabled`. */
  absences: ReadonlyMap<string, string>,
) {
  const byId = new Map(plugins.map((plugin) => [plugin.id, plugin]))
  const verdicts = new Map<string, string | undefined>()
  const ordered: T[] = []

  /** Why the plugin cannot load, or `undefined` if it can. */
  const visit = (plugin: T, path: readonly string[]): string | undefined => {
    if (verdicts.has(plugin.id)) return verdicts.get(plugin.id)
    const verdict = reasonAgainst(plugin, [...path, plugin.id])
    if (!verdicts.has(plugin.id)) {
      verdicts.set(plugin.id, verdict)
      if (verdict === undefined) ordered.push(plugin)
    }
    return verdicts.get(plugin.id)
  }

  const reasonAgainst = (plugin: T, path: readonly string[]): string | undefined => {
    for (const needed of plugin.dependsOn) {
      const start = path.indexOf(needed)
      if (start >= 0) return markCycle(path.slice(start))
      const other = byId.get(needed)
      if (other === undefined)
        return `depends_on names "${needed}", which ${absences.get(needed) ?? 'is not installed'}`
      if (visit(other, path) !== undefined)
        return `depends_on names "${needed}", which could not be loaded`
    }
    return undefined
  }

  const markCycle = (cycle: readonly string[]): string => {
    const message = `depends_on goes in a circle: ${[...cycle, cycle[0]].join(' → ')}`
    for (const id of cycle) verdicts.set(id, message)
    return message
  }

  for (const plugin of plugins) visit(plugin, [])
  const refused = plugins.flatMap(({ id }) => {
    const message = verdicts.get(id)
    return message === undefined ? [] : [{ id, message }]
  })
  return { ordered, refused }
}
