import { parseManifest } from '../types/manifest.ts'
import type { PluginRow } from '../types/plugin-catalog.ts'

/** Notes for the operator before a plugin is removed: the enabled plugins that depend on it, or call its tools. */
export function dependentsOf(id: string, rows: readonly PluginRow[]): readonly string[] {
  const wanting = rows
    .filter((row) => row.id !== id && row.state === 'enabled' && wants(row.manifest, id))
    .map((row) => `"${row.id}"`)
  return wanting.length === 0 ? [] : [`${wanting.join(', ')} depended on it or called its tools.`]
}

function wants(manifest: unknown, id: string): boolean {
  try {
    const { depends_on: needed, uses_tools: used, agent } = parseManifest(manifest)
    const tools = [...used, ...(agent?.uses_tools ?? [])]
    return needed.includes(id) || tools.some((name) => name === id || name.startsWith(`${id}__`))
  } catch {
    return false
  }
}
